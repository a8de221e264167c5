// The Workbench of the built lab with faults, drawn by the seeds of its episodes: for the soak. `crash` and `spin` are shares of
// episodes, `hang` is one of steps. Faults are on while the file `options.whileExists` exists.
import { existsSync } from 'node:fs';
import { workbench } from '../../dist/envs/workbench/definition.js';
import { createRandom, deriveSeed } from '../../dist/src/domain/random.js';

const LOOK_EVERY_MS = 200;
/** Steps among which one that spins is drawn. */
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
  let random = null;
  let stepsToSpin = -1;
  environment.reset = (task, seed) => {
    random = createRandom(deriveSeed('fault', seed));
    const draw = random.next();
    const spins = draw >= crash && draw < crash + spin;
    stepsToSpin = spins ? random.integer(FIRST_STEPS) : -1;
    if (draw < crash && areFaultsOn(whileExists)) throw new Error('soak: the reset crashes');
    return reset(task, seed);
  };
  environment.step = (action) => {
    // Drawn whether or not faults are on, so that a step costs the same either way.
    const hangs = random.next() < hang;
    const spins = stepsToSpin-- === 0;
    if ((hangs || spins) && areFaultsOn(whileExists)) {
      if (hangs) return new Promise(() => {});
      for (;;);
    }
    return step(action);
  };
  return environment;
}

export const environment = { ...workbench, create };
