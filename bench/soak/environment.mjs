// The Workbench of the built lab with faults, drawn by the seeds of its episodes: for the soak. Faults are on while the file
// `options.whileExists` exists.
import { existsSync } from 'node:fs';
import { workbench } from '../../dist/envs/workbench/definition.js';
import { deriveSeed } from '../../dist/src/domain/random.js';

const LOOK_EVERY_MS = 200;
/** Steps among which the faulty one is drawn. */
const FIRST_STEPS = 4;

let looked = Number.NEGATIVE_INFINITY;
let isOn = false;

function areFaultsOn(path) {
  const now = performance.now();
  if (now - looked >= LOOK_EVERY_MS) {
    looked = now;
    isOn = existsSync(path);
  }
  return isOn;
}

function create({ crash, hang, spin, whileExists }) {
  const environment = workbench.create({});
  const reset = environment.reset.bind(environment);
  const step = environment.step.bind(environment);
  let fault = null;
  let stepsLeft = 0;
  environment.reset = (task, seed) => {
    const draw = areFaultsOn(whileExists) ? deriveSeed('fault', seed) / 2 ** 32 : 1;
    fault =
      draw < crash ? 'crash' : draw < crash + hang ? 'hang' : draw < crash + hang + spin ? 'spin' : null;
    stepsLeft = deriveSeed('when', seed) % FIRST_STEPS;
    if (fault === 'crash') throw new Error('soak: the reset crashes');
    return reset(task, seed);
  };
  environment.step = (action) => {
    if (fault !== null && stepsLeft-- === 0) {
      if (fault === 'hang') return new Promise(() => {});
      for (;;);
    }
    return step(action);
  };
  return environment;
}

export const environment = { ...workbench, create };
