import { deriveSeed } from './random.ts';

/** Seed of the environment in an episode, made of the episode's. */
export function environmentSeed(episodeSeed: number): number {
  return deriveSeed(episodeSeed, 'environment');
}

/** Seed of the stream that actions are sampled from in an episode, made of the episode's. */
export function policySeed(episodeSeed: number): number {
  return deriveSeed(episodeSeed, 'policy');
}
