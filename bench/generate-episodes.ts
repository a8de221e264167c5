import { basename } from 'node:path';
import { type EpisodeSummary, NO_STAGES } from '../src/domain/episode.ts';
import { BEHAVIOUR_NAMES, FAILURES, type FailureType, failureTrust } from '../src/domain/failure.ts';
import { episodeId } from '../src/domain/id.ts';
import { LAB_VERSION } from '../src/domain/lab-version.ts';
import { createRandom, deriveSeed, type RandomStream } from '../src/domain/random.ts';
import { openRunStore } from '../src/store/index-writer.ts';
import { createRunDirectory, type RunPaths, writeManifest } from '../src/store/run-directory.ts';

/** Task families: the first is some fifty times as frequent as the last. */
const VERBS = ['ordered', 'read_then_enter', 'report', 'move', 'merge', 'lookup', 'rename', 'audit'];
const FAMILIES = ['', '_2', '_3'].flatMap((suffix) => VERBS.map((verb) => verb + suffix));
const HOSTS = ['local', ...Array.from({ length: 11 }, (_, index) => `gpu${index + 1}`)];
const ITERATIONS = 2000;
/** The first episode began so; later ones follow at this rate. */
export const EPISODES_BEGAN = Date.UTC(2026, 10, 1);
const EPISODES_PER_S = 1500;
/** Episodes in flight at once: each ends somewhere among so many others. */
const IN_FLIGHT = 2048;

/**
 * Episodes of a run as they come in: families by Zipf's law, twelve uneven hosts, failures that change as the policy
 * learns, rewards put together of components, numbers out of order by what is in flight. A function of the seed.
 */
export function* generateEpisodes(count: number, seed = 1): Generator<EpisodeSummary> {
  const random = createRandom(deriveSeed('episodes', seed));
  const flying: EpisodeSummary[] = [];
  for (let sequence = 1; sequence <= count; sequence += 1) {
    flying.push(episodeOf(sequence, count, random));
    if (flying.length < IN_FLIGHT) continue;
    const landed = random.integer(flying.length);
    const [episode, last] = [flying[landed], flying.pop()];
    if (episode === undefined || last === undefined) continue;
    if (landed < flying.length) flying[landed] = last;
    yield episode;
  }
  yield* flying;
}

/** Skewed: 0 is the likeliest. */
function zipf(random: RandomStream, size: number): number {
  return Math.min(size - 1, Math.floor(size ** random.next() - 1 + random.next()));
}

function episodeOf(sequence: number, count: number, random: RandomStream): EpisodeSummary {
  const iteration = 1 + Math.floor((sequence * ITERATIONS) / (count + 1));
  const family = zipf(random, FAMILIES.length);
  const isEval = random.next() < 0.08;
  const difficulty = 1 + random.integer(9) / 2;
  const learned = 1 - Math.exp(-iteration / (120 + family * 40 + difficulty * 30));
  const failure = failureOf(learned, random);
  const trust = failureTrust(failure);
  const success = failure === null;
  const steps = failure === 'max_steps' ? 40 : 2 + Math.floor(6 * difficulty * (0.4 + random.next()));
  const components = componentsOf(success, steps, random);
  const calls = random.integer(steps);
  const host = zipf(random, HOSTS.length);
  const ending = failure === null ? 'terminated' : FAILURES[failure].ending;
  return {
    id: episodeId(sequence),
    task: {
      env: family === 23 ? 'classic' : 'workbench',
      family: FAMILIES[family] ?? 'ordered',
      split: isEval ? 'held_out' : 'train',
      index: random.integer(isEval ? 200 : 100_000),
    },
    seed: random.integer(2 ** 32),
    phase: isEval ? 'eval' : 'train',
    mode: isEval && random.next() < 0.5 ? 'greedy' : 'sampled',
    iteration,
    attempt: random.next() < 0.01 ? 2 : 1,
    taskSeed: random.integer(2 ** 32),
    difficulty,
    host: HOSTS[host] ?? 'local',
    worker: host * 2 + random.integer(2),
    slot: random.integer(3500),
    firstPolicyVersion: Math.max(0, iteration - 1),
    policyVersion: iteration - Number(random.next() < 0.3),
    steps,
    startedAt: EPISODES_BEGAN + Math.floor((sequence * 1000) / EPISODES_PER_S),
    wallMs: steps * (20 + 60 * random.next()),
    terminated: ending === 'terminated',
    truncated: ending === 'truncated',
    success,
    failure,
    failureDetail: failure === null ? null : detailOf(failure, random),
    trust,
    reward: trust === 'void' ? null : Object.values(components).reduce((sum, paid) => sum + paid, 0),
    components,
    behaviours: BEHAVIOUR_NAMES.filter((_, index) => random.next() < (success ? 0.01 : 0.12) / (index + 1)),
    tags: random.next() < 0.1 ? ['long'] : [],
    tools: { calls, failed: Math.min(calls, zipf(random, 12)), byName: {} },
    stages: NO_STAGES,
    failureStage: trust === 'void' ? random.pick(['step', 'reset']) : null,
  };
}

function componentsOf(success: boolean, steps: number, random: RandomStream): Record<string, number> {
  const progress = success ? 1 : random.integer(8) / 8;
  const components: Record<string, number> = { step: -0.01 * steps, progress: 0.5 * progress };
  if (success) components['goal'] = 1;
  if (random.next() < 0.2) components['tool_error'] = -0.05 * (1 + random.integer(4));
  return components;
}

/** What goes wrong: early the policy runs into limits and gives up, later it submits what is not right. */
function failureOf(learned: number, random: RandomStream): FailureType | null {
  if (random.next() < 0.015) return random.pick(['env_crash', 'env_timeout', 'tool_error', 'sandbox_error']);
  if (random.next() < 0.05 + 0.9 * learned) return null;
  const early = random.next() > learned;
  if (early)
    return random.pick(['max_steps', 'max_steps', 'max_steps', 'gave_up', 'context_limit', 'wall_clock']);
  return random.pick(['wrong_result', 'wrong_result', 'premature_submit', 'max_steps', 'gave_up']);
}

function detailOf(failure: FailureType, random: RandomStream): string {
  switch (FAILURES[failure].ending) {
    case 'void':
      return `connect ECONNREFUSED 10.0.${random.integer(12)}.${random.integer(250)}:${8000 + random.integer(900)}`;
    case 'truncated':
      return failure === 'max_steps' ? 'step limit of 40' : `limit of ${10 + random.integer(3) * 10} s`;
    case 'terminated':
      return `${random.integer(6)} of ${1 + random.integer(6)} lines as asked`;
  }
}

const BATCH = 512;
/** Filters do not look into bodies: the least one. */
export const EMPTY_BODY = Buffer.from('{"lines":[],"candidateSets":[],"steps":[],"finalObservation":[]}');

/** Writes a run of so many episodes by the way that every run is written. */
export function writeGeneratedRun(paths: RunPaths, count: number, say: (line: string) => void): void {
  createRunDirectory(paths);
  const store = openRunStore(paths);
  let batch: EpisodeSummary[] = [];
  let written = 0;
  const write = (): void => {
    store.appendEpisodes(batch.map((summary) => ({ summary, body: EMPTY_BODY })));
    written += batch.length;
    if (Math.floor(written / 100_000) > Math.floor((written - batch.length) / 100_000))
      say(`${written} episodes`);
    batch = [];
  };
  for (const summary of generateEpisodes(count)) {
    batch.push(summary);
    if (batch.length === BATCH) write();
  }
  write();
  store.close();
  // As one that has ended, so that the screen opens it.
  writeManifest(paths, {
    format: 1,
    id: basename(paths.root),
    name: 'generated',
    createdAt: EPISODES_BEGAN,
    labVersion: LAB_VERSION,
    seed: 1,
    state: 'finished',
    reason: null,
    attempt: 1,
    socket: '',
    pid: null,
    parent: null,
  });
}
