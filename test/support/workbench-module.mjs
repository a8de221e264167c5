/** The Workbench of the built lab as a module of the user's: environments of tests are it with one fault. */
export { workbench as environment } from '../../dist/envs/workbench/definition.js';
