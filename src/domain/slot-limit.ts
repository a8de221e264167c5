/** Most slots of a worker, and of all that the config asks for together. */
export const MOST_SLOTS = 100_000;
