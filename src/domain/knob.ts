import { z } from 'zod';
import { LabError } from './error.ts';
import { keysOf, recordOf } from './table.ts';

export interface KnobKind {
  readonly label: string;
  readonly meaning: string;
  readonly minimum: number;
  readonly maximum: number;
  readonly initial: number;
  /** How a key press changes it: multiplied or divided by `factor`, or moved by `amount`. */
  readonly step: { readonly factor: number } | { readonly amount: number };
  readonly integer: boolean;
}

/** Hyper-parameters that may change while a run goes on: inputs of the training graph or of its loop. */
export const KNOBS = {
  clip: {
    label: 'clip',
    meaning: 'PPO clip range ε of the probability ratio',
    minimum: 0.01,
    maximum: 1,
    initial: 0.2,
    step: { amount: 0.02 },
    integer: false,
  },
  kl: {
    label: 'KL coefficient',
    meaning: 'weight of the KL penalty; the adaptive controller goes on from it',
    minimum: 0.0001,
    maximum: 10,
    initial: 0.05,
    step: { factor: 1.5 },
    integer: false,
  },
  kl_target: {
    label: 'KL target',
    meaning: 'KL per update that the adaptive coefficient aims at; 0 keeps the coefficient fixed',
    minimum: 0,
    maximum: 1,
    initial: 0.02,
    step: { factor: 1.5 },
    integer: false,
  },
  kl_limit: {
    label: 'KL limit',
    meaning: 'a minibatch whose KL passes it ends the update; 0 is no limit',
    minimum: 0,
    maximum: 10,
    initial: 0.06,
    step: { factor: 1.5 },
    integer: false,
  },
  entropy: {
    label: 'entropy bonus',
    meaning: 'weight of the entropy bonus',
    minimum: 0,
    maximum: 1,
    initial: 0.01,
    step: { factor: 1.5 },
    integer: false,
  },
  lr: {
    label: 'learning rate',
    meaning: 'Adam step size',
    minimum: 0,
    maximum: 0.1,
    initial: 0.001,
    step: { factor: 1.5 },
    integer: false,
  },
  value: {
    label: 'value coefficient',
    meaning: 'weight of the value loss',
    minimum: 0,
    maximum: 10,
    initial: 0.5,
    step: { factor: 1.5 },
    integer: false,
  },
  epochs: {
    label: 'epochs',
    meaning: 'passes over a batch',
    minimum: 1,
    maximum: 50,
    initial: 3,
    step: { amount: 1 },
    integer: true,
  },
  minibatch: {
    label: 'minibatch',
    meaning: 'samples per gradient step',
    minimum: 16,
    maximum: 65536,
    initial: 512,
    step: { factor: 2 },
    integer: true,
  },
} as const satisfies Record<string, KnobKind>;

export type KnobName = keyof typeof KNOBS;
export const KNOB_NAMES = keysOf(KNOBS);
export type KnobValues = Readonly<Record<KnobName, number>>;

export const knobNameSchema = z.enum(KNOB_NAMES);
export const knobValuesSchema = z.record(knobNameSchema, z.number());

/** The values that a run starts with when its config is silent. */
export function initialKnobs(): KnobValues {
  return recordOf(KNOB_NAMES, (name) => KNOBS[name].initial);
}

/** Refuses a value outside the knob's range, naming the range. Returns the value. */
export function checkKnob(name: KnobName, value: number): number {
  const knob = KNOBS[name];
  const ok = Number.isFinite(value) && value >= knob.minimum && value <= knob.maximum;
  if (!ok || (knob.integer && !Number.isInteger(value))) {
    throw new LabError('knob-invalid', {
      message: `${name}=${value} is out of range: ${knob.label} takes ${knob.integer ? 'a whole number' : 'a number'} from ${knob.minimum} to ${knob.maximum}`,
      hint: `e.g. agentrl-lab set ${name}=${knob.initial}`,
    });
  }
  return value;
}

/** The value one key press up (`direction` 1) or down (-1), kept in range and free of float noise. */
export function stepKnob(name: KnobName, value: number, direction: 1 | -1): number {
  const knob: KnobKind = KNOBS[name];
  const moved =
    'factor' in knob.step ? value * knob.step.factor ** direction : value + direction * knob.step.amount;
  const rounded = knob.integer ? Math.round(moved) : Number(moved.toPrecision(3));
  return Math.min(knob.maximum, Math.max(knob.minimum, rounded));
}
