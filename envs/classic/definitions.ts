import type { EnvironmentDefinition } from '../contract.ts';
import { acrobotModel, createSwingUpPolicy } from './acrobot.ts';
import { cartPoleModel } from './cartpole.ts';
import { defineNumeric } from './numeric.ts';

/** CartPole-v1. No oracle: it can only be lost, and reaching the step limit is a truncation. */
export const cartpole: EnvironmentDefinition = defineNumeric(cartPoleModel);

/** Acrobot-v1. */
export const acrobot: EnvironmentDefinition = defineNumeric(acrobotModel, createSwingUpPolicy);
