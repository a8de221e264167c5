import type { Assignment, EpisodeSummary } from '../domain/episode.ts';
import type { HostFigures, HostSpec } from '../domain/host.ts';
import type { Batching, WorkerSlots } from '../domain/pipeline.ts';
import type { ChildStatus } from '../domain/run.ts';
import type { Catalog } from '../domain/task.ts';
import { fromWorkerMessages, unpackEpisode } from '../protocol/episode-message.ts';
import type { Attachments } from '../protocol/frame.ts';
import { type LifelineNews, parseLifelineNews } from '../protocol/lifeline.ts';
import {
  type FromWorker,
  type ToWorker,
  type WorkerReport,
  type WorkerSettings,
} from '../protocol/worker.ts';
import { ChildLink, type RestartPolicy } from './child-link.ts';
import { dealInTurn } from './deal.ts';
import { isThisMachine } from './host-keeper.ts';
import type { RunsOn } from './provider-news.ts';
import { RecentReports } from './recent-reports.ts';
import { SlotQuestion } from './slot-question.ts';

export interface DeliveredEpisode {
  readonly summary: EpisodeSummary;
  readonly bytes: number;
  readonly bootstrapValue: number | null;
  /** Of an episode of several agents; see trainer.ts of the protocol. */
  readonly agentValues?: readonly number[] | undefined;
  /** `body`, `samples`, and `summary` as the worker wrote it; none of them of an episode that was lost with its worker. */
  readonly attachments: Attachments;
  /** Its environment had an episode before. */
  readonly recycled?: boolean | undefined;
}

/** What workers say of the audits of their resets. */
export type AuditNews = Extract<FromWorker, { type: 'leak' | 'audit_failed' | 'report' }>;

export interface WorkerPoolOptions {
  readonly hosts: readonly HostSpec[];
  readonly slots: number;
  readonly restart: RestartPolicy;
  /** What every worker is told, but for its number, host and share of the slots. */
  readonly settings: Omit<WorkerSettings, 'worker' | 'host' | 'slots'>;
  readonly onReady: (worker: number, catalog: Catalog, runsOn: RunsOn) => void;
  /** A worker has room for more episodes. Where it is in lockstep, all that it said must be dealt with when this returns. */
  readonly onRoom: (inStep: boolean) => void;
  readonly onEpisode: (worker: number, episode: DeliveredEpisode) => void;
  readonly onLost: (worker: number, loss: WorkerLoss) => void;
  /** A worker says that none can ever do what it was told. */
  readonly onRefused: (worker: number, reason: string) => void;
  readonly onStderr: (worker: number, line: string) => void;
  readonly onAudit?: (worker: number, news: AuditNews) => void;
  readonly onReport?: (worker: number, report: WorkerReport) => void;
}

/** How a worker was lost. */
export interface WorkerLoss {
  readonly reason: string;
  /** When it is started again; null when it was given up. */
  readonly retryMs: number | null;
  /** What its environment was at that ended it, if that is known. */
  readonly culprit: LifelineNews | null;
  /** Somebody wanted it started anew: it died of nothing. */
  readonly asked: boolean;
}

/** What the main thread of a worker is at, and since when (ms since the epoch), where it takes long. */
export type LongCall = Pick<LifelineNews, 'stage' | 'slot'> & { readonly since: number };

interface Member {
  readonly link: ChildLink<ToWorker, FromWorker>;
  readonly settings: WorkerSettings;
  credits: number;
  /** Episodes that it has asked for; in lockstep they are not given before it waits. */
  claimed: number;
  report: WorkerReport | null;
  culprit: LifelineNews | null;
  call: LongCall | null;
  readonly question: SlotQuestion;
  provider: string | null;
  /** It is given no episodes. */
  resting: boolean;
  /** It has left the run; its place keeps its number. */
  gone: boolean;
}

/** A worker whose main thread is stuck does not answer. */
const SLOTS_TIMEOUT_MS = 2000;
/** How long a worker that is to be started anew, or leaves, may take to end by itself, ms. */
const GRACE_MS = 3000;

/** All workers of a run, on all hosts. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #members: Member[] = [];
  readonly #recent = new RecentReports();
  #weights: { policyVersion: number; bytes: Uint8Array } | null = null;
  readonly #quarantined = new Set<string>();
  #pace = 0;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    const places = options.hosts.flatMap((host) => Array.from({ length: host.workers }, () => host));
    for (const [index, host] of places.entries()) {
      const slots = Math.floor(options.slots / places.length) + Number(index < options.slots % places.length);
      this.#members.push(this.#createMember(options, host, this.#settings(index, host, slots, host.workers)));
    }
  }

  /** How many there are, without those that have left. */
  get size(): number {
    return this.#present.length;
  }

  get readyCount(): number {
    return this.#present.filter(({ link }) => link.state === 'ready').length;
  }

  /** Those that episodes can be given to. */
  get samplingCount(): number {
    return this.#present.filter(({ link, resting }) => link.state === 'ready' && !resting).length;
  }

  /** Names of the workers that were given up. */
  get dead(): string[] {
    return this.#present.filter(({ link }) => link.state === 'dead').map(({ link }) => link.name);
  }

  /** Numbers of the workers that have not left, with their hosts. */
  get places(): { readonly worker: number; readonly host: string }[] {
    return this.#present.map(({ settings }) => ({ worker: settings.worker, host: settings.host }));
  }

  get #present(): Member[] {
    return this.#members.filter(({ gone }) => !gone);
  }

  /** What a worker is told, of `hostWorkers` on its host. */
  #settings(worker: number, host: HostSpec, slots: number, hostWorkers: number): WorkerSettings {
    const { settings } = this.#options;
    const { limits } = settings;
    // One is enough to say how a machine is; the run's own it sees itself.
    const watchHost = !isThisMachine(host) && this.places.every((place) => place.host !== host.name);
    return {
      ...settings,
      worker,
      host: host.name,
      slots,
      limits: limits && { ...limits, hostWorkers: Math.max(1, hostWorkers) },
      ...(watchHost ? { watchHost } : {}),
    };
  }

  /** Makes a place for another worker, which the caller starts; gives its number. */
  add(host: HostSpec, slots: number): number {
    const worker = this.#members.length;
    const there = this.places.filter((place) => place.host === host.name).length;
    // Where several run, what is sampled depends on the clock anyway.
    const settings = { ...this.#settings(worker, host, slots, there + 1), lockstep: false };
    this.#members.push(this.#createMember(this.#options, host, settings));
    return worker;
  }

  startWorker(worker: number): void {
    this.#members[worker]?.link.start();
  }

  /** Gives a worker no new episodes, or gives it some again. */
  setResting(worker: number, resting: boolean): void {
    const member = this.#members[worker];
    if (member !== undefined) member.resting = resting;
  }

  isResting(worker: number): boolean {
    return this.#members[worker]?.resting === true;
  }

  /** Starts a worker anew: one that has nothing left ends by itself, another is killed. */
  restart(worker: number, reason: string, isIdle: boolean): void {
    this.#members[worker]?.link.restart(reason, isIdle ? { type: 'stop' } : null, GRACE_MS);
  }

  /** Ends a worker for good; what it still had is lost as with one that died. */
  async remove(worker: number): Promise<void> {
    const member = this.#members[worker];
    if (member === undefined || member.gone) return;
    member.gone = true;
    member.question.answer(null);
    const wasUp = member.link.status().pid !== null;
    await member.link.stop({ type: 'stop' }, GRACE_MS);
    const loss = { reason: 'has left the run', retryMs: null, culprit: null, asked: true };
    if (wasUp) this.#options.onLost(worker, loss);
  }

  name(worker: number): string {
    return this.#members[worker]?.link.name ?? `worker ${worker}`;
  }

  hostName(worker: number): string {
    return this.#members[worker]?.settings.host ?? '';
  }

  status(): ChildStatus[] {
    return this.#present.map(({ link, settings, report, provider }) => ({
      ...link.status(),
      slots: settings.slots,
      busySlots: link.state === 'ready' ? (report?.busySlots ?? 0) : 0,
      provider,
      rssMiB: report?.rssMiB ?? 0,
      resources: report?.watch?.resources ?? null,
      drain: null,
    }));
  }

  /** What workers say of their hosts, by name. */
  hostFigures(): Map<string, HostFigures> {
    return new Map(
      this.#present.flatMap(({ settings, report }) =>
        report?.watch?.host === undefined ? [] : [[settings.host, report.watch.host] as const],
      ),
    );
  }

  /** They are told to stand still. */
  get held(): boolean {
    return this.#pace === 0;
  }

  /** What the main thread of each worker is inside of, by its number, where that takes long; null where it does not. */
  longCalls(): (LongCall | null)[] {
    return this.#members.map(({ call }) => call);
  }

  /** Environment steps per second over the last seconds, all workers. */
  stepsPerS(): number {
    return this.#recent.stepsPerS();
  }

  /** How the policy is asked, over the last seconds, all workers. */
  batching(): Batching {
    const windows = this.#present.map(({ report }) => report?.windowMs ?? 0);
    const { slice = 1, slots = 1 } = this.#present[0]?.settings ?? {};
    return this.#recent.batching(Math.min(slice, slots), Math.max(0, ...windows));
  }

  start(): void {
    for (const { link } of this.#present) link.start();
  }

  /** Kills workers that have been silent for too long, but none after this process was `asleep` itself. */
  checkHeartbeats(asleep: boolean): void {
    for (const { link } of this.#present) {
      if (asleep) link.excuse();
      else link.checkHeartbeat();
    }
  }

  revive(): void {
    for (const { link } of this.#present) link.revive();
  }

  /** Gives every worker, and each that starts later, these weights. */
  broadcast(policyVersion: number, bytes: Uint8Array): void {
    this.#weights = { policyVersion, bytes };
    for (const { link } of this.#present) {
      if (link.state === 'ready') link.send({ type: 'weights', policyVersion }, { weights: bytes });
    }
  }

  /** Has every worker, and each that starts later, build a new environment for each episode of this family. */
  quarantine(family: string): void {
    this.#quarantined.add(family);
    for (const { link } of this.#present) {
      if (link.state === 'ready') link.send({ type: 'quarantine', family });
    }
  }

  /** How fast every worker, and each that starts later, may step: 1 is as fast as it can, 0 is not at all. */
  setPace(pace: number): void {
    if (pace === this.#pace) return;
    const before = this.#pace;
    this.#pace = pace;
    for (const { link } of this.#present) if (link.state === 'ready') this.#tellPace(link, before);
  }

  /** Tells a worker the pace, if it differs from the one `before`. */
  #tellPace(link: Member['link'], before: number): void {
    if (this.#pace === 0) {
      link.send({ type: 'hold' });
      return;
    }
    link.send({ type: 'pace', fraction: this.#pace });
    if (before === 0) link.send({ type: 'go' });
  }

  /** Asks `next` for an episode for each that a worker has room for, until it has none. */
  fill(next: (worker: number) => Assignment | null): void {
    const room = this.#members.map(({ link, credits, resting, gone }) =>
      link.state === 'ready' && !resting && !gone ? credits : 0,
    );
    for (const [index, episodes] of dealInTurn(room, next).entries()) {
      const member = this.#members[index];
      if (member === undefined || episodes.length === 0) continue;
      member.credits -= episodes.length;
      member.link.send({ type: 'dispatch', episodes });
    }
  }

  /** What is in the slots of these workers, or of all. */
  async slots(workers: readonly number[] | null): Promise<WorkerSlots[]> {
    const asked = this.#present.filter(({ settings }) => workers?.includes(settings.worker) ?? true);
    return await Promise.all(asked.map(async (member) => await askForSlots(member)));
  }

  ack(worker: number, bytes: number): void {
    this.#members[worker]?.link.send({ type: 'ack', bytes });
  }

  async stop(graceMs: number): Promise<void> {
    await Promise.all(this.#present.map(async ({ link }) => await link.stop({ type: 'stop' }, graceMs)));
  }

  #createMember(options: WorkerPoolOptions, host: HostSpec, settings: WorkerSettings): Member {
    const index = settings.worker;
    const member: Member = {
      settings,
      credits: 0,
      claimed: 0,
      report: null,
      culprit: null,
      call: null,
      question: new SlotQuestion(),
      provider: null,
      resting: false,
      gone: false,
      link: new ChildLink<ToWorker, FromWorker>({
        role: 'worker',
        index,
        host,
        restart: options.restart,
        schema: fromWorkerMessages,
        unpack: unpackEpisode,
        onHello: () => member.link.send({ type: 'start', settings }),
        onMessage: (message, attachments) => this.#receive(options, member, message, attachments),
        onStderr: (line) => {
          const news = parseLifelineNews(line);
          if (news === null) options.onStderr(index, line);
          else hear(member, news);
        },
        onLost: (reason, retryMs, asked) => {
          const { culprit } = member;
          member.culprit = null;
          member.call = null;
          member.credits = 0;
          member.claimed = 0;
          member.report = null;
          member.provider = null;
          member.question.answer(null);
          options.onLost(index, { reason, retryMs, culprit, asked });
        },
      }),
    };
    return member;
  }

  #giveRoom(options: WorkerPoolOptions, member: Member): void {
    member.credits += member.claimed;
    member.claimed = 0;
    options.onRoom(member.settings.lockstep === true);
  }

  /** Tells a worker that has just started what the others know. */
  #brief(link: Member['link']): void {
    if (this.#weights !== null) {
      const { policyVersion, bytes } = this.#weights;
      link.send({ type: 'weights', policyVersion }, { weights: bytes });
    }
    for (const family of this.#quarantined) link.send({ type: 'quarantine', family });
    if (this.#pace > 0) this.#tellPace(link, 0);
  }

  #receive(options: WorkerPoolOptions, member: Member, message: FromWorker, attachments: Attachments): void {
    const { link, settings } = member;
    switch (message.type) {
      case 'ready':
        link.markReady();
        this.#brief(link);
        member.provider = message.provider;
        options.onReady(settings.worker, message.catalog, message);
        break;
      case 'refused':
        options.onRefused(settings.worker, message.reason);
        break;
      case 'claim':
        member.claimed += message.count;
        if (settings.lockstep !== true) this.#giveRoom(options, member);
        break;
      case 'sync':
        this.#giveRoom(options, member);
        link.send({ type: 'synced' });
        break;
      case 'episode': {
        link.markUseful();
        const { summary, bytes, bootstrapValue, agentValues, recycled } = message;
        const delivered = { summary, bytes, bootstrapValue, agentValues, attachments, recycled };
        options.onEpisode(settings.worker, delivered);
        break;
      }
      case 'report':
        member.report = message.report;
        member.call = null;
        this.#recent.add(message.report);
        options.onReport?.(settings.worker, message.report);
        options.onAudit?.(settings.worker, message);
        break;
      case 'leak':
      case 'audit_failed':
        options.onAudit?.(settings.worker, message);
        break;
      case 'slots':
        member.question.answer(message.slots);
        break;
      case 'hello':
        break;
    }
  }
}

/** Takes note of what the watching thread of a worker says. */
function hear(member: Member, news: LifelineNews): void {
  const { kind, stage, slot, ms } = news;
  member.link.markAlive();
  if (kind === 'busy') member.call = { stage, slot, since: Date.now() - ms };
  else if (kind === 'ended') {
    member.call = null;
    // It climbed, and nothing came of it.
    if (member.culprit?.kind === 'grew') member.culprit = null;
  } else member.culprit = news;
}

async function askForSlots(member: Member): Promise<WorkerSlots> {
  const { link, question } = member;
  const isReady = link.state === 'ready';
  const slots = isReady ? await question.ask(() => link.send({ type: 'slots' }), SLOTS_TIMEOUT_MS) : null;
  const { call } = member;
  const stuck = call === null ? null : { slot: call.slot, stage: call.stage, ms: Date.now() - call.since };
  return { worker: link.name, slots: slots === null ? null : [...slots], stuck };
}
