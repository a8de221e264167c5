/** Version of the lab, as in package.json (a test compares them). */
export const LAB_VERSION = '0.1.0';
