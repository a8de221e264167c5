import { workbench } from '../envs/workbench/definition.ts';
import { VOCABULARY } from '../envs/workbench/vocabulary.ts';
import { type EpisodeSummary, NO_STAGES } from '../src/domain/episode.ts';
import { episodeId } from '../src/domain/id.ts';
import { createRandom, deriveSeed, type RandomStream } from '../src/domain/random.ts';
import type { Action, Observation } from '../src/domain/space.ts';
import { takesArgument } from '../src/domain/space.ts';
import { NO_TOOLS } from '../src/domain/tool.ts';
import type { FinishedEpisode } from '../src/store/index-writer.ts';

/** Episodes that are really played; all others are these with other names in them. */
const PLAYED = 5000;
const MAX_STEPS = 30;
const NAME = /\b[a-z]{5}\b/gu;

interface Played {
  readonly family: string;
  readonly success: boolean;
  readonly steps: number;
  /** JSON of a body. */
  readonly body: string;
}

/**
 * Text as the Workbench makes it, of any number of episodes: those of a policy that knows what to do in every other step,
 * played once, then repeated with the names of files, directories and values exchanged for others of the vocabulary.
 */
export function* generateTexts(count: number, seed: number): Generator<FinishedEpisode> {
  const random = createRandom(seed);
  const played = Array.from({ length: PLAYED }, (_, n) => play(n, random));
  const words = VOCABULARY.train;
  const place = new Map(words.map((word, index) => [word, index]));
  for (let sequence = 1; sequence <= count; sequence++) {
    const one = played[(sequence - 1) % PLAYED];
    if (one === undefined) continue;
    const shift = deriveSeed(seed, sequence) % words.length;
    const body = one.body.replace(NAME, (name) => {
      const index = place.get(name);
      return index === undefined ? name : (words[(index + shift) % words.length] ?? name);
    });
    yield { summary: summaryOf(sequence, one), body: Buffer.from(body) };
  }
}

function play(n: number, random: RandomStream): Played {
  const families = workbench.catalog.families;
  const family = families[n % families.length]?.name ?? '';
  const task = workbench.createTask({ env: 'workbench', family, split: 'train', index: n });
  const env = workbench.create({});
  const oracle = workbench.createOracle?.(task);
  const lines = new Map<string, number>();
  const indicesOf = (seen: Observation): number[] =>
    seen.lines.map((line) => {
      const known = lines.get(line) ?? lines.size;
      lines.set(line, known);
      return known;
    });
  const steps: object[] = [];
  let seen = observationOf(env.reset(task, n));
  let success = false;
  for (let terminated = false; !terminated && steps.length < MAX_STEPS; ) {
    const known = random.next() < 0.5 ? oracle?.(seen) : undefined;
    const action = known !== undefined && isOffered(seen, known) ? known : anyAction(seen, random);
    steps.push({ ...STEP, observation: indicesOf(seen), action });
    const result = env.step(action);
    if (result instanceof Promise) throw new Error('the Workbench was to answer at once');
    seen = result.observation;
    ({ terminated, success } = result);
  }
  const finalObservation = indicesOf(seen);
  const body = JSON.stringify({ lines: [...lines.keys()], candidateSets: [[]], steps, finalObservation });
  return { family, success, steps: steps.length, body };
}

const STEP = {
  candidates: 0,
  probability: 0.25,
  value: 0.1,
  entropy: 1.5,
  policyVersion: 1,
  effective: true,
  reward: 0,
  parts: [],
};

function observationOf(seen: Observation | Promise<Observation>): Observation {
  if (seen instanceof Promise) throw new Error('the Workbench was to answer at once');
  return seen;
}

function isOffered({ legal, candidates }: Observation, { type, argument }: Action): boolean {
  if (!legal.includes(type)) return false;
  return argument === null || candidates.some((one) => one.type === type && one.text === argument);
}

/** Any legal action, but seldom one that ends the episode. */
function anyAction({ legal, candidates }: Observation, random: RandomStream): Action {
  const type = random.pick(legal);
  if (type === 'submit' && random.next() < 0.8) return { type: 'noop', argument: null };
  if (!takesArgument(type)) return { type, argument: null };
  const fitting = candidates.filter((candidate) => candidate.type === type);
  return fitting.length === 0
    ? { type: 'noop', argument: null }
    : { type, argument: random.pick(fitting).text };
}

function summaryOf(sequence: number, { family, success, steps }: Played): EpisodeSummary {
  return {
    id: episodeId(sequence),
    task: { env: 'workbench', family, split: 'train', index: sequence % 20_000 },
    seed: sequence,
    phase: 'train',
    mode: 'sampled',
    iteration: 1 + Math.floor(sequence / 1000),
    attempt: 1,
    taskSeed: sequence,
    failureStage: null,
    difficulty: 1,
    host: 'local',
    worker: sequence % 2,
    slot: sequence % 256,
    firstPolicyVersion: 1,
    policyVersion: 1,
    steps,
    startedAt: 1_790_000_000_000 + sequence,
    wallMs: 10,
    terminated: true,
    truncated: false,
    success,
    failure: success ? null : 'wrong_result',
    failureDetail: null,
    trust: 'valid',
    reward: success ? 1 : 0,
    components: {},
    behaviours: [],
    tags: [],
    tools: NO_TOOLS,
    stages: NO_STAGES,
  };
}
