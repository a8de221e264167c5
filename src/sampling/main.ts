import type { EnvironmentDefinition } from '../../envs/contract.ts';
import { findEnvironment } from '../../envs/registry.ts';
import { errorText, errorWithHint, LabError } from '../domain/error.ts';
import { connectToParent } from '../protocol/child.ts';
import { type PackedMessage, packEpisode } from '../protocol/episode-message.ts';
import type { Attachments } from '../protocol/frame.ts';
import { HostFiguresReader } from '../protocol/host-figures.ts';
import { type Lifeline, startLifeline } from '../protocol/lifeline.ts';
import { type FromWorker, type ToWorker, toWorkerSchema, type WorkerSettings } from '../protocol/worker.ts';
import { Measure, measureEnvironment } from './measure.ts';
import { Outbox } from './outbox.ts';
import { ResetAudit } from './reset-audit.ts';
import { removeAbandoned, TempDirectories, tempRoot } from './temp-directories.ts';
import { SamplingWorker } from './worker.ts';
import { memoryLimitMiB } from './worker-watch.ts';

/** Entry of a worker process: see src/protocol/worker.ts for what it is told and what it says. */

const REPORT_INTERVAL_MS = 500;

let worker: SamplingWorker | null = null;
let audit: ResetAudit | undefined;
let outbox: Outbox | null = null;
/** Messages are handled one after another: what follows `start` waits until the slots are built. */
let previous: Promise<void> = Promise.resolve();

const connection = connectToParent<ToWorker, PackedMessage>({
  schema: toWorkerSchema,
  onMessage: (message, attachments) => {
    previous = handleAfter(previous, message, attachments['weights']);
  },
  onEnd: async () => await worker?.stop(),
  onDrain: () => {
    outbox?.drain();
    worker?.drained();
  },
});

async function handleAfter(
  before: Promise<void>,
  message: ToWorker,
  weights: Uint8Array | undefined,
): Promise<void> {
  await before;
  try {
    await handle(message, weights);
  } catch (thrown) {
    process.stderr.write(`${errorText(thrown)}\n`);
    process.exit(1);
  }
}

/** The environment, tried once: one that cannot be made now will not be made by another attempt either. */
async function loadEnvironment({ env }: WorkerSettings): Promise<EnvironmentDefinition | null> {
  try {
    const definition = await findEnvironment(env.name);
    await definition.create(env.options).close();
    return definition;
  } catch (thrown) {
    connection.send({ type: 'refused', reason: `environment ${env.name}: ${errorWithHint(thrown)}` });
    return null;
  }
}

async function start(settings: WorkerSettings): Promise<void> {
  const definition = await loadEnvironment(settings);
  if (definition === null) return;
  for (const name of removeAbandoned())
    process.stderr.write(`removed ${name}, left by a process that was killed\n`);
  const created = await createWorker(settings, definition);
  if (created === null) return;
  worker = created;
  const host = settings.watchHost === true ? new HostFiguresReader() : null;
  setInterval(() => {
    created.checkDeadlines();
    const reason = created.exhausted();
    if (reason !== null) {
      process.stderr.write(`${reason}\n`);
      process.exit(1);
    }
    const report = created.report();
    const watch = report.watch && { ...report.watch, host: host?.read() };
    connection.send({ type: 'report', report: { ...report, watch } });
  }, REPORT_INTERVAL_MS).unref();
  const { provider, fellBackFrom } = created.engine;
  connection.send({
    type: 'ready',
    catalog: definition.catalog,
    provider,
    fellBackFrom: [...fellBackFrom],
  });
}

/** A policy that cannot be loaded here, as for want of its provider, will not be by another attempt either. */
async function createWorker(
  settings: WorkerSettings,
  definition: EnvironmentDefinition,
): Promise<SamplingWorker | null> {
  const measure = settings.actor === 'random' ? new Measure() : undefined;
  const root = tempRoot();
  const directories = new TempDirectories(root);
  process.on('exit', () => directories.close());
  const { slots, stepTimeoutMs, limits } = settings;
  const lifeline = startLifeline({
    limitMs: stepTimeoutMs,
    slots,
    tempRoot: root,
    ...(limits === undefined ? {} : { memoryLimitMiB: memoryLimitMiB(limits) }),
  });
  const pipe = {
    send: (message: FromWorker, attachments?: Attachments) =>
      connection.send(...packEpisode(message, attachments)),
    get queuedBytes() {
      return connection.queuedBytes;
    },
  };
  const out = new Outbox(pipe, settings.lockstep === true);
  outbox = out;
  audit = createAudit(settings, definition, out, lifeline, directories);
  try {
    return await SamplingWorker.create({
      settings,
      definition: measure === undefined ? definition : measureEnvironment(definition, measure),
      measure,
      lifeline,
      directories,
      audit,
      send: (message, attachments) => out.send(message, attachments),
      queuedBytes: () => out.queuedBytes,
    });
  } catch (thrown) {
    if (!(thrown instanceof LabError) || thrown.code !== 'graph-invalid') throw thrown;
    connection.send({ type: 'refused', reason: `the policy cannot run: ${errorWithHint(thrown)}` });
    return null;
  }
}

function createAudit(
  settings: WorkerSettings,
  definition: EnvironmentDefinition,
  out: Outbox,
  lifeline: Lifeline,
  directories: TempDirectories,
): ResetAudit | undefined {
  const { audit: rule, stepTimeoutMs, worker: seed, env, slots } = settings;
  // Where tools call out, the reset of another environment would call again, whatever they do there.
  if (rule === undefined || definition.tools !== undefined) return undefined;
  return new ResetAudit({
    rule,
    definition,
    options: env.options,
    lifeline,
    // Beside those of the slots.
    openDirectory: () => directories.open(slots),
    stepTimeoutMs,
    seed,
    onLeak: (difference) => out.send({ type: 'leak', difference }),
    onFailed: (family, reason) => out.send({ type: 'audit_failed', family, reason }),
  });
}

async function handle(message: ToWorker, weights: Uint8Array | undefined): Promise<void> {
  if (message.type === 'start') {
    await start(message.settings);
    return;
  }
  if (worker === null) {
    // It has refused, and is told to end.
    if (message.type === 'stop') process.exit(0);
    throw new Error(`"${message.type}" came before "start"`);
  }
  switch (message.type) {
    case 'weights':
      if (weights === undefined) throw new Error('"weights" came without its attachment');
      worker.load(new Float32Array(Uint8Array.from(weights).buffer), message.policyVersion);
      break;
    case 'dispatch':
      worker.dispatch(message.episodes);
      break;
    case 'hold':
      worker.hold();
      break;
    case 'go':
      worker.go();
      break;
    case 'pace':
      worker.setPace(message.fraction);
      break;
    case 'ack':
      worker.ack(message.bytes);
      break;
    case 'slots':
      connection.send({ type: 'slots', slots: worker.slotUse() });
      break;
    case 'synced':
      worker.synced();
      break;
    case 'quarantine':
      audit?.quarantine(message.family);
      break;
    case 'stop':
      await worker.stop();
      process.exit(0);
  }
}
