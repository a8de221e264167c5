import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EpisodeBody, type EpisodeSummary, episodeSummarySchema } from '../../src/domain/episode.ts';
import { FAILURE_TYPES, failureTrust } from '../../src/domain/failure.ts';
import { episodeId } from '../../src/domain/id.ts';
import type { IterationMetrics, RunManifest } from '../../src/domain/run.ts';
import type { FinishedEpisode } from '../../src/store/index-writer.ts';
import { createRunDirectory, type RunPaths, runPaths } from '../../src/store/run-directory.ts';

/** A runs directory of its own, removed by `remove`. */
export interface TemporaryRuns {
  readonly directory: string;
  run(id?: string): RunPaths;
  remove(): void;
}

export function temporaryRuns(): TemporaryRuns {
  const directory = mkdtempSync(join(tmpdir(), 'agentrl-lab-store-'));
  return {
    directory,
    run: (id = 'run') => {
      const paths = runPaths(directory, id);
      createRunDirectory(paths);
      return paths;
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

export function summaryOf(sequence: number, changes: Partial<EpisodeSummary> = {}): EpisodeSummary {
  return episodeSummarySchema.parse({
    id: episodeId(sequence),
    task: { env: 'workbench', family: 'read_then_enter', split: 'train', index: sequence % 100 },
    seed: sequence * 7919,
    phase: 'train',
    mode: 'sampled',
    iteration: Math.ceil(sequence / 10),
    attempt: 1,
    taskSeed: 4_000_000_000 + sequence,
    difficulty: 1.5,
    host: 'local',
    worker: sequence % 2,
    slot: sequence % 500,
    firstPolicyVersion: 3,
    policyVersion: 4,
    steps: 5 + (sequence % 30),
    startedAt: 1_790_000_000_000.25 + sequence,
    wallMs: 12.5,
    terminated: true,
    truncated: false,
    success: true,
    failure: null,
    failureDetail: null,
    trust: 'valid',
    reward: 1 / 3,
    components: { goal: 1, step: -0.1 },
    behaviours: [],
    ...changes,
  });
}

/** Episodes of every ending in turn: success first, then each failure type. */
export function mixedSummary(sequence: number): EpisodeSummary {
  const failure = [null, ...FAILURE_TYPES][sequence % (FAILURE_TYPES.length + 1)] ?? null;
  const trust = failureTrust(failure);
  return summaryOf(sequence, {
    success: failure === null,
    failure,
    failureDetail: failure === null ? null : `detail of ${failure}`,
    trust,
    reward: trust === 'void' ? null : sequence / 7,
    phase: sequence % 5 === 0 ? 'eval' : 'train',
    behaviours: sequence % 4 === 0 ? ['loop', 'unread_submit'] : [],
    ...(sequence % 6 === 0 ? { agentRewards: { speaker: 1.5, listener: sequence } } : {}),
  });
}

/** A body of so many steps, as an environment of text makes it. */
export function bodyOf(steps: number, seed = 1): EpisodeBody {
  const lines = Array.from(
    { length: steps * 2 + 4 },
    (_, line) => `line ${seed}.${line}: the file notes_${line}.txt is open`,
  );
  const candidates = Array.from({ length: 12 }, (_, candidate) => ({
    type: 'input' as const,
    text: `notes_${candidate}.txt`,
    kind: 'file',
  }));
  return {
    lines,
    candidateSets: [candidates],
    steps: Array.from({ length: steps }, (_, step) => ({
      observation: [0, 1, 2, step + 3],
      candidates: 0,
      action: { type: 'input' as const, argument: `notes_${step % 12}.txt` },
      probability: 0.123456789 / (step + 1),
      value: 0.5 - step / 100,
      entropy: 1.25,
      policyVersion: 4,
      reward: -0.01,
      effective: true,
      parts: [{ name: 'step', raw: 1, weighted: -0.01, paid: -0.01 }],
    })),
    finalObservation: [0, 1],
  };
}

export function finished(summary: EpisodeSummary, body: EpisodeBody = bodyOf(3)): FinishedEpisode {
  return { summary, body: Buffer.from(JSON.stringify(body)) };
}

export function metricsOf(iteration: number, changes: Partial<IterationMetrics> = {}): IterationMetrics {
  return {
    iteration,
    policyVersion: iteration,
    attempt: 1,
    time: 1_790_000_000_000 + iteration,
    elapsedS: iteration * 2,
    episodes: iteration * 100,
    envSteps: iteration * 2000,
    envStepsPerS: 5000,
    batchEpisodes: 100,
    batchSteps: 2000,
    reward: 0.5,
    success: 0.25,
    voidShare: 0,
    truncatedShare: 0.1,
    meanSteps: 20,
    heldOutSuccess: null,
    heldOutByFamily: {},
    heldOutGreedy: null,
    heldOutGreedyByFamily: {},
    kl: 0.01,
    klK1: 0.009,
    klK3: 0.011,
    klCoefficient: 0.05,
    learningRate: 0.001,
    entropyCoefficient: 0.01,
    clipFraction: 0.1,
    entropy: 1.2,
    policyLoss: -0.01,
    valueLoss: 0.3,
    explainedVariance: 0.4,
    gradientNorm: 0.5,
    staleness: 0.5,
    stalest: 1,
    staleCounts: [900, 124],
    components: { progress: 0.2, step: -0.05 },
    queuedBytes: 2048,
    staleSteps: 0,
    staleEpisodes: 0,
    staleS: 0,
    heldS: 0,
    minibatches: 12,
    stoppedEarly: false,
    sampleS: 1,
    updateS: 1,
    evalS: 0,
    ...changes,
  };
}

export function manifestOf(id: string, changes: Partial<RunManifest> = {}): RunManifest {
  return {
    format: 1,
    id,
    name: id,
    createdAt: 1_790_000_000_000,
    labVersion: '0.1.0',
    seed: 1,
    state: 'running',
    reason: null,
    attempt: 1,
    socket: '/nowhere/control.sock',
    pid: null,
    parent: null,
    ...changes,
  };
}
