import type { Assignment, EpisodeSummary } from '../domain/episode.ts';
import type { HostSpec } from '../domain/host.ts';
import type { Batching } from '../domain/pipeline.ts';
import type { ChildStatus } from '../domain/run.ts';
import type { Catalog } from '../domain/task.ts';
import type { Attachments } from '../protocol/frame.ts';
import { type LifelineNews, parseLifelineNews } from '../protocol/lifeline.ts';
import {
  type FromWorker,
  fromWorkerSchema,
  type ToWorker,
  type WorkerReport,
  type WorkerSettings,
} from '../protocol/worker.ts';
import { ChildLink, type RestartPolicy } from './child-link.ts';
import { dealInTurn } from './deal.ts';
import type { RunsOn } from './provider-news.ts';
import { RecentReports } from './recent-reports.ts';

export interface DeliveredEpisode {
  readonly summary: EpisodeSummary;
  readonly bytes: number;
  readonly bootstrapValue: number | null;
  readonly attachments: Attachments;
}

export interface WorkerPoolOptions {
  readonly hosts: readonly HostSpec[];
  readonly slots: number;
  readonly restart: RestartPolicy;
  /** What every worker is told, but for its number, host and share of the slots. */
  readonly settings: Omit<WorkerSettings, 'worker' | 'host' | 'slots'>;
  readonly onReady: (worker: number, catalog: Catalog, runsOn: RunsOn) => void;
  /** A worker has room for more episodes: `nextFor` will be asked. */
  readonly onRoom: () => void;
  readonly onEpisode: (worker: number, episode: DeliveredEpisode) => void;
  readonly onLost: (worker: number, loss: WorkerLoss) => void;
  /** A worker says that none can ever do what it was told. */
  readonly onRefused: (worker: number, reason: string) => void;
  readonly onStderr: (worker: number, line: string) => void;
  readonly onReport?: (worker: number, report: WorkerReport) => void;
}

/** How a worker was lost. */
export interface WorkerLoss {
  readonly reason: string;
  /** When it is started again; null when it was given up. */
  readonly retryMs: number | null;
  /** What its environment was at that ended it, if that is known. */
  readonly culprit: LifelineNews | null;
}

interface Member {
  readonly link: ChildLink<ToWorker, FromWorker>;
  readonly settings: WorkerSettings;
  credits: number;
  report: WorkerReport | null;
  culprit: LifelineNews | null;
  provider: string | null;
}

/** All workers of a run, on all hosts. */
export class WorkerPool {
  readonly #members: Member[] = [];
  readonly #recent = new RecentReports();
  #weights: { policyVersion: number; bytes: Uint8Array } | null = null;
  #held = true;

  constructor(options: WorkerPoolOptions) {
    const places = options.hosts.flatMap((host) => Array.from({ length: host.workers }, () => host));
    for (const [index, host] of places.entries()) {
      const slots = Math.floor(options.slots / places.length) + Number(index < options.slots % places.length);
      const settings = { ...options.settings, worker: index, host: host.name, slots };
      this.#members.push(this.#createMember(options, host, settings));
    }
  }

  get size(): number {
    return this.#members.length;
  }

  get readyCount(): number {
    return this.#members.filter(({ link }) => link.state === 'ready').length;
  }

  /** Names of the workers that were given up. */
  get dead(): string[] {
    return this.#members.filter(({ link }) => link.state === 'dead').map(({ link }) => link.name);
  }

  name(worker: number): string {
    return this.#members[worker]?.link.name ?? `worker ${worker}`;
  }

  hostName(worker: number): string {
    return this.#members[worker]?.settings.host ?? '';
  }

  status(): ChildStatus[] {
    return this.#members.map(({ link, settings, report, provider }) => ({
      ...link.status(),
      slots: settings.slots,
      busySlots: link.state === 'ready' ? (report?.busySlots ?? 0) : 0,
      provider,
      rssMiB: report?.rssMiB ?? 0,
      resources: null,
    }));
  }

  /** Environment steps per second over the last seconds, all workers. */
  stepsPerS(): number {
    return this.#recent.stepsPerS();
  }

  /** How the policy is asked, over the last seconds, all workers. */
  batching(): Batching {
    const windows = this.#members.map(({ report }) => report?.windowMs ?? 0);
    const { slice = 1, slots = 1 } = this.#members[0]?.settings ?? {};
    return this.#recent.batching(Math.min(slice, slots), Math.max(0, ...windows));
  }

  start(): void {
    for (const { link } of this.#members) link.start();
  }

  /** Kills workers that have been silent for too long, but none after this process was `asleep` itself. */
  checkHeartbeats(asleep: boolean): void {
    for (const { link } of this.#members) {
      if (asleep) link.excuse();
      else link.checkHeartbeat();
    }
  }

  revive(): void {
    for (const { link } of this.#members) link.revive();
  }

  /** Gives every worker, and each that starts later, these weights. */
  broadcast(policyVersion: number, bytes: Uint8Array): void {
    this.#weights = { policyVersion, bytes };
    for (const { link } of this.#members) {
      if (link.state === 'ready') link.send({ type: 'weights', policyVersion }, { weights: bytes });
    }
  }

  /** Stops or continues stepping everywhere. */
  setHeld(held: boolean): void {
    if (held === this.#held) return;
    this.#held = held;
    for (const { link } of this.#members) {
      if (link.state === 'ready') link.send({ type: held ? 'hold' : 'go' });
    }
  }

  /** Asks `next` for an episode for each that a worker has room for, until it has none. */
  fill(next: (worker: number) => Assignment | null): void {
    const room = this.#members.map(({ link, credits }) => (link.state === 'ready' ? credits : 0));
    for (const [index, episodes] of dealInTurn(room, next).entries()) {
      const member = this.#members[index];
      if (member === undefined || episodes.length === 0) continue;
      member.credits -= episodes.length;
      member.link.send({ type: 'dispatch', episodes });
    }
  }

  ack(worker: number, bytes: number): void {
    this.#members[worker]?.link.send({ type: 'ack', bytes });
  }

  async stop(graceMs: number): Promise<void> {
    await Promise.all(this.#members.map(async ({ link }) => await link.stop({ type: 'stop' }, graceMs)));
  }

  #createMember(options: WorkerPoolOptions, host: HostSpec, settings: WorkerSettings): Member {
    const index = settings.worker;
    const member: Member = {
      settings,
      credits: 0,
      report: null,
      culprit: null,
      provider: null,
      link: new ChildLink<ToWorker, FromWorker>({
        role: 'worker',
        index,
        host,
        restart: options.restart,
        schema: fromWorkerSchema,
        onHello: () => member.link.send({ type: 'start', settings }),
        onMessage: (message, attachments) => this.#receive(options, member, message, attachments),
        onStderr: (line) => {
          const news = parseLifelineNews(line);
          if (news?.kind === 'busy') member.link.markAlive();
          else if (news !== null) member.culprit = news;
          else options.onStderr(index, line);
        },
        onLost: (reason, retryMs) => {
          const { culprit } = member;
          member.culprit = null;
          member.credits = 0;
          member.report = null;
          member.provider = null;
          options.onLost(index, { reason, retryMs, culprit });
        },
      }),
    };
    return member;
  }

  #receive(options: WorkerPoolOptions, member: Member, message: FromWorker, attachments: Attachments): void {
    const { link, settings } = member;
    switch (message.type) {
      case 'ready':
        link.markReady();
        if (this.#weights !== null) {
          const { policyVersion, bytes } = this.#weights;
          link.send({ type: 'weights', policyVersion }, { weights: bytes });
        }
        if (!this.#held) link.send({ type: 'go' });
        member.provider = message.provider;
        options.onReady(settings.worker, message.catalog, message);
        break;
      case 'refused':
        options.onRefused(settings.worker, message.reason);
        break;
      case 'claim':
        member.credits += message.count;
        options.onRoom();
        break;
      case 'episode': {
        link.markUseful();
        const { summary, bytes, bootstrapValue } = message;
        options.onEpisode(settings.worker, { summary, bytes, bootstrapValue, attachments });
        break;
      }
      case 'report':
        member.report = message.report;
        this.#recent.add(message.report);
        options.onReport?.(settings.worker, message.report);
        break;
      case 'hello':
        break;
    }
  }
}
