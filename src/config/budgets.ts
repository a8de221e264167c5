import { actionLayout, observationTensors } from '../domain/policy-spec.ts';
import { alertProblems } from './alert-problems.ts';
import type { Config } from './schema.ts';

/** Something that cannot work: the key to look at, and what is wrong with what would be right. */
export interface Problem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

const MIB = 1024 * 1024;
/** What a process and one slot take before anything is queued, in MiB: generous, to refuse only the impossible. */
const PROCESS_MIB = 100;
const SLOT_MIB = 0.05;

/** Bytes of one step's training sample: what the policy read, f32 log-probabilities, and scalars. */
export function sampleBytesPerStep(config: Config): number {
  const observation = observationTensors(config.policy).reduce((sum, { bytes }) => sum + bytes, 0);
  return observation + 4 * actionLayout(config.policy).size + 14;
}

/** Combinations that cannot work, each with the way out. `memoryMiB` is what this machine has, null if unknown. */
export function findImpossible(config: Config, memoryMiB: number | null): Problem[] {
  return [
    ...samplingProblems(config),
    ...batchProblems(config),
    ...learningProblems(config),
    ...estimatorProblems(config),
    ...scheduleProblems(config),
    ...hostProblems(config),
    ...alertProblems(config.alerts),
    ...memoryProblems(config, memoryMiB),
  ];
}

function samplingProblems({ sampling, hosts, policy }: Config): Problem[] {
  const problems: Problem[] = [];
  const add = (key: keyof Config['sampling'], message: string): void => {
    problems.push({ path: ['sampling', key], message });
  };
  const workers = hosts.reduce((sum, host) => sum + host.workers, 0);
  const { slots, slice, stepTimeoutMs, episodeTimeoutMs, batchSteps, maxSteps } = sampling;
  if (stepTimeoutMs >= episodeTimeoutMs) {
    add('stepTimeoutMs', `${stepTimeoutMs} must be less than sampling.episodeTimeoutMs, ${episodeTimeoutMs}`);
  }
  if (slots < workers) {
    add('slots', `${slots} is less than the ${workers} workers of all hosts: each needs a slot at least`);
  }
  if (slice > slots)
    add('slice', `${slice} is more than sampling.slots, ${slots}: a slice is a part of them`);
  if (batchSteps < maxSteps) {
    add(
      'batchSteps',
      `${batchSteps} is less than sampling.maxSteps, ${maxSteps}: a batch holds whole episodes`,
    );
  }
  if (policy.kind === 'text' && policy.taskSentences >= policy.sentences) {
    const message = `${policy.taskSentences} must be less than policy.sentences, ${policy.sentences}`;
    problems.push({ path: ['policy', 'taskSentences'], message });
  }
  return problems;
}

function batchProblems({ sampling: { slice, batch } }: Config): Problem[] {
  const problems: Problem[] = [];
  const add = (key: keyof typeof batch, message: string): void => {
    problems.push({ path: ['sampling', 'batch', key], message });
  };
  const { minRows, minWindowMs, maxWindowMs } = batch;
  if (minRows > slice)
    add('minRows', `${minRows} is more than sampling.slice, ${slice}: no call has so many`);
  if (minWindowMs > maxWindowMs) {
    add('minWindowMs', `${minWindowMs} is more than sampling.batch.maxWindowMs, ${maxWindowMs}`);
  }
  return problems;
}

function learningProblems({ knobs, sampling }: Config): Problem[] {
  const problems: Problem[] = [];
  if (knobs.minibatch > sampling.batchSteps) {
    const message = `${knobs.minibatch} is more than sampling.batchSteps, ${sampling.batchSteps}: it is a part of a batch`;
    problems.push({ path: ['knobs', 'minibatch'], message });
  }
  if (knobs.kl_limit > 0 && knobs.kl_limit < knobs.kl_target) {
    const message = `${knobs.kl_limit} is less than knobs.kl_target, ${knobs.kl_target}: updates would end before the target; 0 is no limit`;
    problems.push({ path: ['knobs', 'kl_limit'], message });
  }
  return problems;
}

/** Below this, the clamp keeps k3 under what limits are set to: e^2 − 3 is 4.4. */
const LEAST_K3_CLAMP = 2;

function estimatorProblems({ trainer }: Config): Problem[] {
  const { klEstimator, logRatioClamp } = trainer;
  if (klEstimator !== 'k3' || logRatioClamp >= LEAST_K3_CLAMP) return [];
  const message = `k3 is computed from log-ratios held within trainer.logRatioClamp, ${logRatioClamp}, and would never reach a limit: wanted ${LEAST_K3_CLAMP} or more there, or another estimator`;
  return [{ path: ['trainer', 'klEstimator'], message }];
}

function scheduleProblems({ schedule, knobs, sampling }: Config): Problem[] {
  const problems: Problem[] = [];
  const targets = [knobs.kl_target, ...(schedule.kl_target?.points ?? []).map(([, value]) => value)];
  if (schedule.kl !== undefined && targets.some((target) => target > 0)) {
    const message = `moves the KL coefficient, and so does the adaptive controller at a target of ${Math.max(...targets)}: wanted knobs.kl_target 0, or no schedule`;
    problems.push({ path: ['schedule', 'kl'], message });
  }
  for (const [index, [, value]] of (schedule.minibatch?.points ?? []).entries()) {
    if (value <= sampling.batchSteps) continue;
    const message = `${value} is more than sampling.batchSteps, ${sampling.batchSteps}: a minibatch is a part of a batch`;
    problems.push({ path: ['schedule', 'minibatch', 'points', index], message });
  }
  return problems;
}

function hostProblems({ hosts }: Config): Problem[] {
  const problems: Problem[] = [];
  const seen = new Map<string, number>();
  for (const [index, host] of hosts.entries()) {
    const add = (key: string, message: string): void => {
      problems.push({ path: ['hosts', index, key], message });
    };
    const earlier = seen.get(host.name);
    if (earlier !== undefined) add('name', `"${host.name}" is already the name of hosts.${earlier}`);
    else seen.set(host.name, index);
    const samples = host.roles.includes('worker');
    if (samples && host.workers === 0) add('workers', '0, but the roles say worker: wanted 1 or more');
    if (!samples && host.workers > 0) {
      add('workers', `${host.workers}, but the roles do not say worker: wanted 0, or roles: [worker]`);
    }
    if (host.ssh === null && host.sshOptions.length > 0) {
      add('sshOptions', 'given, but ssh is not: wanted ssh: user@host');
    }
  }
  const trainers = hosts.filter((host) => host.roles.includes('trainer')).length;
  if (trainers !== 1) {
    const message = `${trainers === 0 ? 'none' : String(trainers)} has the role trainer; wanted exactly one`;
    problems.push({ path: ['hosts'], message });
  }
  if (!hosts.some((host) => host.roles.includes('worker'))) {
    problems.push({ path: ['hosts'], message: 'none has the role worker; wanted one at least' });
  }
  return problems;
}

function memoryProblems(config: Config, memoryMiB: number | null): Problem[] {
  const problems: Problem[] = [];
  const { sampling, hosts } = config;
  const stepBytes = sampleBytesPerStep(config);
  const needs = (steps: number): number => Math.ceil((steps * stepBytes) / MIB);
  const add = (key: 'unackedMiB' | 'queueMiB', message: string): void => {
    problems.push({ path: ['sampling', key], message });
  };
  const episodeMiB = needs(sampling.maxSteps);
  if (sampling.unackedMiB < episodeMiB) {
    add(
      'unackedMiB',
      `${sampling.unackedMiB} does not hold one episode of ${sampling.maxSteps} steps: wanted ${episodeMiB} or more`,
    );
  }
  const batchMiB = needs(sampling.batchSteps + sampling.maxSteps);
  if (sampling.queueMiB < batchMiB) {
    add(
      'queueMiB',
      `${sampling.queueMiB} does not hold one batch of ${sampling.batchSteps} steps: wanted ${batchMiB} or more`,
    );
  }
  if (memoryMiB === null) return problems;
  const local = hosts.filter((host) => host.ssh === null);
  const localWorkers = local.reduce((sum, host) => sum + host.workers, 0);
  const allWorkers = hosts.reduce((sum, host) => sum + host.workers, 0);
  const slots = allWorkers === 0 ? 0 : (sampling.slots * localWorkers) / allWorkers;
  const total = Math.round(
    PROCESS_MIB * (1 + localWorkers) + slots * SLOT_MIB + localWorkers * sampling.unackedMiB + batchMiB,
  );
  if (total > memoryMiB) {
    const message = `${sampling.slots} slots, ${localWorkers} workers of up to ${sampling.unackedMiB} MiB unacknowledged and a batch of ${batchMiB} MiB need about ${total} MiB; this machine has ${memoryMiB}`;
    problems.push({ path: ['sampling', 'slots'], message });
  }
  return problems;
}
