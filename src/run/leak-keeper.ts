import type { Leak, ResetDifference } from '../domain/leak.ts';
import type { RunStatus } from '../domain/run.ts';
import { openRunReader, type RunReader } from '../store/queries.ts';
import type { RunPaths } from '../store/run-directory.ts';
import type { Journal } from './journal.ts';
import type { AuditNews, DeliveredEpisode, WorkerPool } from './worker-pool.ts';

const LEAK = 'reset-leak';

export interface LeakKeeperOptions {
  readonly paths: RunPaths;
  readonly journal: Pick<Journal, 'event' | 'manifest'>;
  readonly workers: Pick<WorkerPool, 'name' | 'quarantine'>;
}

/**
 * Knows the families whose resets leave traces of earlier episodes, from the recorded events on, and has every worker rebuild its
 * slots for them.
 */
export class LeakKeeper {
  readonly #options: LeakKeeperOptions;
  readonly #leaks: Leak[];
  #audits = 0;
  /** Episodes of this attempt in an environment of their own, by family. */
  readonly #fresh = new Map<string, number>();

  constructor(options: LeakKeeperOptions) {
    this.#options = options;
    this.#leaks = recordedLeaks(options.paths);
    for (const { family } of this.#leaks) options.workers.quarantine(family);
  }

  /** Its part of a status. */
  status(): Pick<RunStatus, 'audits' | 'leaks'> {
    return { audits: this.#audits, leaks: this.#leaks };
  }

  /** An episode has been stored. */
  stored({ summary, recycled }: DeliveredEpisode): void {
    if (recycled === true) return;
    const { family } = summary.task;
    this.#fresh.set(family, (this.#fresh.get(family) ?? 0) + 1);
  }

  /** A worker says something of its audits. */
  hear(worker: number, news: AuditNews): void {
    const name = this.#options.workers.name(worker);
    if (news.type === 'report') {
      this.#audits += news.report.audits ?? 0;
    } else if (news.type === 'audit_failed') {
      const message = `resets of family ${news.family} cannot be audited: ${news.reason}`;
      this.#options.journal.event('warning', 'reset-audit-failed', name, message);
    } else {
      this.#found(name, news.difference);
    }
  }

  #found(worker: string, difference: ResetDifference): void {
    const { family, episode } = difference;
    // Workers may find the same at the same time.
    if (this.#leaks.some((leak) => leak.family === family)) return;
    this.#options.workers.quarantine(family);
    const summary = describeLeak(worker, difference, this.#recycledEpisodes(family));
    this.#leaks.push({ family, time: Date.now(), episode, message: summary });
    const { recycled, fresh } = difference;
    const texts = [
      `used slot, sha256 ${recycled.sha256}:`,
      recycled.text,
      `new slot, sha256 ${fresh.sha256}:`,
      fresh.text,
    ];
    this.#options.journal.event('error', LEAK, family, [summary, ...texts].join('\n'), [episode]);
  }

  /** What is known of how many episodes of the family were sampled in slots that were used before. */
  #recycledEpisodes(family: string): string {
    let reader: RunReader | null = null;
    try {
      reader = openRunReader(this.#options.paths);
      const ofFamily = { where: { kind: 'choice', field: 'family', values: [family] }, sort: BY_ID } as const;
      const count = reader.countEpisodes(ofFamily) - (this.#fresh.get(family) ?? 0);
      // Which slots earlier attempts had just built is not recorded.
      return this.#options.journal.manifest.attempt === 1 ? String(count) : `at most ${count}`;
    } catch {
      // An index that cannot be read must not cost the run, nor keep the leak from being told.
      return 'an unknown number';
    } finally {
      reader?.close();
    }
  }
}

const BY_ID = { field: 'id', descending: true } as const;

function describeLeak(worker: string, difference: ResetDifference, episodes: string): string {
  const { family, episode, slot, part, line, recycled, fresh } = difference;
  const where = part === 'observation' ? 'the first observation' : 'the state behind the first observation';
  return (
    `resets of family ${family} leave traces of earlier episodes: in ${episode} (${worker}, slot ${slot}) ${where} ` +
    `differs in line ${line}: ${quoted(recycled.line)} in the used slot, ${quoted(fresh.line)} in a new one; ` +
    `${episodes} of its episodes were sampled in used slots, from now on each gets a new one`
  );
}

function quoted(line: string | null): string {
  return line === null ? 'nothing' : `\`${line.trim()}\``;
}

/** Those that earlier attempts found. */
function recordedLeaks(paths: RunPaths): Leak[] {
  const reader = openRunReader(paths);
  try {
    return reader.eventsOfKind(LEAK).map(({ subject, time, message, episodes }) => ({
      family: subject,
      time,
      episode: episodes[0] ?? '',
      message: message.split('\n')[0] ?? '',
    }));
  } finally {
    reader.close();
  }
}
