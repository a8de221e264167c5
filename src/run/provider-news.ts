import type { Journal } from './journal.ts';

/** What a child's models run on. */
export interface RunsOn {
  readonly provider: string;
  /** Those that were preferred and are not there, each with the reason. */
  readonly fellBackFrom: readonly { readonly provider: string; readonly reason: string }[];
}

/** Says once of each child what it runs on, and again when that changes. */
export class ProviderNews {
  readonly #journal: Pick<Journal, 'event'>;
  readonly #told = new Map<string, string>();

  constructor(journal: Pick<Journal, 'event'>) {
    this.#journal = journal;
  }

  tell(child: string, { provider, fellBackFrom }: RunsOn): void {
    const missing = fellBackFrom.map((other) => `${other.provider}: ${other.reason}`).join('; ');
    const text = missing === '' ? `runs on ${provider}` : `runs on ${provider}; not on ${missing}`;
    if (this.#told.get(child) === text) return;
    this.#told.set(child, text);
    this.#journal.event(missing === '' ? 'info' : 'warning', 'provider', child, text);
  }
}
