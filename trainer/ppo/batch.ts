import { LabError } from '../../src/domain/error.ts';
import {
  actionLayout,
  type ObservationTensorName,
  observationTensors,
  type PolicySpec,
} from '../../src/domain/policy-spec.ts';
import type { TrainerOptions } from '../../src/domain/trainer-options.ts';
import type { Attachments } from '../../src/protocol/frame.ts';
import type { SamplesHeader } from '../../src/protocol/trainer.ts';
import { createObservationArrays, type ObservationArrays } from '../policy/observation-arrays.ts';
import { explainedVariance, normalise, writeAdvantages } from './advantages.ts';
import { type TurnCourse, writeTurnAdvantages } from './turn-advantages.ts';

/** One episode's samples, as src/protocol/trainer.ts describes them. */
export interface EpisodeSamples {
  readonly id: string;
  readonly steps: number;
  /** `unfinished`: a piece of an episode that goes on. */
  readonly ending: 'terminated' | 'truncated' | 'unfinished';
  /** V(s_T); 0 when the episode terminated. */
  readonly finalValue: number;
  /** By the names of the policy's observation tensors. */
  readonly observations: Readonly<Partial<Record<ObservationTensorName, SampleColumn>>>;
  readonly actions: Uint16Array;
  readonly logProbabilities: Float32Array;
  readonly values: Float32Array;
  readonly rewards: Float32Array;
  readonly versions: Uint32Array;
  /** Of an episode of several agents, whose step each is, and V(s_T) of each agent. */
  readonly turns?: Pick<TurnCourse, 'agents' | 'finalValues'> | undefined;
}

/** How episodes become a batch. */
export type BatchOptions = Pick<TrainerOptions, 'gamma' | 'lambda' | 'advantages' | 'bootstrapTruncated'>;

const COLUMNS = { u8: Uint8Array, u16: Uint16Array, f32: Float32Array } as const;
type SampleColumn = Uint8Array | Uint16Array | Float32Array;

/** Where an episode's samples lie in a batch. */
export interface EpisodeSpan {
  readonly id: string;
  readonly start: number;
  readonly steps: number;
}

/** Samples of many episodes in flat arrays, in the element types that the model takes; n samples, A flat actions. */
export interface Batch {
  readonly count: number;
  /** In memory that the gradient threads share. */
  readonly observations: ObservationArrays;
  readonly episodes: readonly EpisodeSpan[];
  /** [n] */
  readonly actions: Int32Array;
  /** [n, A] */
  readonly oldLogProbabilities: Float32Array;
  /** [n], normalised over the batch if the options say so. */
  readonly advantages: Float32Array;
  /** [n]: advantage before normalisation + value. */
  readonly returns: Float32Array;
  /** [n]: the sampling policy's values. */
  readonly oldValues: Float32Array;
  /** Mean over samples of (policy version now − version that took the step). */
  readonly staleness: number;
  /** The largest of them. */
  readonly stalest: number;
  /** How many samples were so many versions old, from 0 on; the last counts all beyond. */
  readonly staleCounts: readonly number[];
  readonly explainedVariance: number;
}

/** Ages of samples are counted one by one up to this. */
const MOST_STALE_BUCKET = 16;

/** Bytes of one sample in each tensor of a message. */
function sampleBytes(spec: PolicySpec): Map<string, number> {
  const { size } = actionLayout(spec);
  return new Map<string, number>([
    ...observationTensors(spec).map(({ name, bytes }): [string, number] => [name, bytes]),
    ['actions', 2],
    ['logProbabilities', 4 * size],
    ['values', 4],
    ['rewards', 4],
    ['versions', 4],
  ]);
}

/** An episode's tensors by name, of the sizes that they must have: from attachments of their own, or out of all joined in this order. */
function tensorsOf(
  spec: PolicySpec,
  { id, steps, agentValues }: SamplesHeader,
  attachments: Attachments,
): Map<string, Uint8Array> {
  const { samples } = attachments;
  const tensors = new Map<string, Uint8Array>();
  const wrong = (what: string, wanted: number): LabError =>
    new LabError('protocol-invalid', {
      message: `samples of ${id}: ${what} bytes, wanted ${wanted} for ${steps} steps`,
      hint: 'the worker must use the policy shape that the trainer was started with',
    });
  const widths = sampleBytes(spec);
  if (agentValues !== undefined) widths.set('agents', 1);
  let at = 0;
  for (const [name, width] of widths) {
    const wanted = steps * width;
    const bytes = samples === undefined ? attachments[name] : samples.subarray(at, at + wanted);
    at += wanted;
    if (bytes?.byteLength !== wanted) throw wrong(`"${name}" has ${bytes?.byteLength ?? 'no'}`, wanted);
    tensors.set(name, bytes);
  }
  if (samples !== undefined && samples.byteLength !== at) throw wrong(String(samples.byteLength), at);
  return tensors;
}

/**
 * Copies an episode out of a message, whose attachments need not be aligned. Throws `protocol-invalid` when a tensor is
 * missing or of another size, or when an episode that was cut short brings no value to go on from.
 */
export function readSamples(
  spec: PolicySpec,
  header: SamplesHeader,
  attachments: Attachments,
): EpisodeSamples {
  const tensors = tensorsOf(spec, header, attachments);
  if (!header.terminated && header.bootstrapValue === null) {
    throw new LabError('protocol-invalid', {
      message: `samples of ${header.id}: neither terminated nor with a bootstrapValue`,
      hint: 'send the value of the last observation of a truncated episode',
    });
  }
  const turns = readTurns(header, tensors.get('agents'));
  const copy = (name: string): ArrayBuffer => new Uint8Array(tensors.get(name) ?? []).buffer;
  const observations = observationTensors(spec).map(({ name, element }): [string, SampleColumn] => [
    name,
    new COLUMNS[element](copy(name)),
  ]);
  return {
    id: header.id,
    steps: header.steps,
    ending: endingOf(header),
    finalValue: header.terminated ? 0 : (header.bootstrapValue ?? 0),
    observations: Object.fromEntries(observations),
    actions: new Uint16Array(copy('actions')),
    logProbabilities: new Float32Array(copy('logProbabilities')),
    values: new Float32Array(copy('values')),
    rewards: new Float32Array(copy('rewards')),
    versions: new Uint32Array(copy('versions')),
    ...(turns === undefined ? {} : { turns }),
  };
}

function readTurns(
  { id, steps, terminated, agentValues }: SamplesHeader,
  agents: Uint8Array | undefined,
): EpisodeSamples['turns'] {
  if (agentValues === undefined) return undefined;
  const known = agents?.every((agent) => agent < agentValues.length) === true;
  if (agents === undefined || !known) {
    throw new LabError('protocol-invalid', {
      message: `samples of ${id}: "agents" says ${agents?.join(' ') ?? 'nothing'}, wanted one of ${agentValues.length} agents for each of ${steps} steps`,
      hint: 'send the place of the acting agent of each step, from 0',
    });
  }
  return {
    agents: Uint8Array.from(agents),
    finalValues: terminated ? agentValues.map(() => 0) : agentValues,
  };
}

function endingOf({ terminated, unfinished }: SamplesHeader): EpisodeSamples['ending'] {
  if (terminated) return 'terminated';
  return unfinished === true ? 'unfinished' : 'truncated';
}

/**
 * Joins episodes, in order, and computes their advantages and returns. `version` is the policy version now; rewards are
 * divided by `rewardDivisor`. Only what is trained on may come in: a mean over void episodes would move all the others.
 */
export function joinEpisodes(
  spec: PolicySpec,
  episodes: readonly EpisodeSamples[],
  options: BatchOptions,
  version: number,
  rewardDivisor = 1,
): Batch {
  const { size } = actionLayout(spec);
  const count = episodes.reduce((sum, { steps }) => sum + steps, 0);
  const observations = createObservationArrays(spec, count, true);
  const actions = new Int32Array(count);
  const oldLogProbabilities = new Float32Array(new SharedArrayBuffer(4 * count * size));
  const oldValues = new Float32Array(count);
  const advantages = new Float32Array(count);
  const spans: EpisodeSpan[] = [];
  let row = 0;
  let age = 0;
  let stalest = 0;
  const staleCounts: number[] = [];
  for (const episode of episodes) {
    for (const { name, width } of observationTensors(spec)) {
      const column = episode.observations[name];
      if (column !== undefined) observations[name]?.set(column, row * width);
    }
    actions.set(episode.actions, row);
    oldLogProbabilities.set(episode.logProbabilities, row * size);
    oldValues.set(episode.values, row);
    writeEpisode(episode, options, rewardDivisor, { advantages, row });
    for (const old of episode.versions) {
      age += version - old;
      stalest = Math.max(stalest, version - old);
      const bucket = Math.min(MOST_STALE_BUCKET, Math.max(0, version - old));
      while (staleCounts.length <= bucket) staleCounts.push(0);
      staleCounts[bucket] = (staleCounts[bucket] ?? 0) + 1;
    }
    spans.push({ id: episode.id, start: row, steps: episode.steps });
    row += episode.steps;
  }
  const returns = advantages.map((advantage, i) => advantage + (oldValues[i] ?? 0));
  if (options.advantages === 'batch') normalise(advantages);
  return {
    count,
    observations,
    episodes: spans,
    actions,
    oldLogProbabilities,
    advantages,
    returns,
    oldValues,
    staleness: age / Math.max(1, count),
    stalest,
    staleCounts,
    explainedVariance: explainedVariance(returns, oldValues),
  };
}

/** Writes an episode's advantages, from `row` on. */
function writeEpisode(
  episode: EpisodeSamples,
  options: BatchOptions,
  rewardDivisor: number,
  { advantages, row }: { readonly advantages: Float32Array; readonly row: number },
): void {
  const { values, ending, finalValue, turns } = episode;
  const rewards =
    rewardDivisor === 1 ? episode.rewards : episode.rewards.map((reward) => reward / rewardDivisor);
  const isWorthless = ending === 'truncated' && !options.bootstrapTruncated;
  if (turns === undefined) {
    writeAdvantages({ rewards, values, finalValue: isWorthless ? 0 : finalValue }, options, advantages, row);
    return;
  }
  const finalValues = isWorthless ? turns.finalValues.map(() => 0) : turns.finalValues;
  writeTurnAdvantages({ rewards, values, agents: turns.agents, finalValues }, options, advantages, row);
}
