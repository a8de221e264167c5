import { errorText } from '../src/domain/error.ts';
import type { KnobName, KnobValues } from '../src/domain/knob.ts';
import type { Preview } from '../src/domain/run.ts';

/** What is known of the effect of the proposed values. */
export type PreviewState =
  | { readonly kind: 'asking' }
  | { readonly kind: 'known'; readonly preview: Preview }
  | { readonly kind: 'refused'; readonly reason: string };

/** Whom a proposal asks and what it does in the end. */
export interface ProposalPorts {
  /** Rejects with the reason where there is no preview. */
  preview(knobs: Partial<KnobValues>): Promise<Preview>;
  /** Sends the values; `note` says why they go without a preview, or is null. */
  send(knobs: Partial<KnobValues>, note: string | null): void;
  /** What is shown has changed. */
  changed(): void;
}

/** Ms without a further press before the preview is asked for: a held key must not ask at every repeat. */
const ASK_AFTER_MS = 120;
/** Ms that a preview stands on the screen before its values are sent; without one, ms since the last press. */
const SETTLE_MS = 1200;
/** Ms since the last press after which the values are sent, whatever has become of the preview. */
const PATIENCE_MS = 3000;

/**
 * Values that knobs are about to get. Every press moves them and asks what they would do; they are sent by themselves once
 * the keys rest, at once on `send`, and never after `drop`.
 */
export class KnobProposal {
  readonly #ports: ProposalPorts;
  #values: Partial<KnobValues> = {};
  #preview: PreviewState = { kind: 'asking' };
  /** Counts changes of the values: an answer to older ones says nothing of those that are shown. */
  #generation = 0;
  #movedAt = 0;
  #inFlight = false;
  #askTimer: NodeJS.Timeout | null = null;
  #sendTimer: NodeJS.Timeout | null = null;

  constructor(ports: ProposalPorts) {
    this.#ports = ports;
  }

  /** Something waits to be sent. */
  get open(): boolean {
    return Object.keys(this.#values).length > 0;
  }

  get values(): Readonly<Partial<KnobValues>> {
    return this.#values;
  }

  /** What the values would do, or null while nothing is proposed. */
  get preview(): PreviewState | null {
    return this.open ? this.#preview : null;
  }

  /** Proposes a value, or with null no change of this knob. */
  move(knob: KnobName, to: number | null): void {
    const { [knob]: _, ...others } = this.#values;
    this.#clear();
    this.#values = to === null ? others : { ...others, [knob]: to };
    if (this.open) {
      this.#movedAt = Date.now();
      this.#askTimer = setTimeout(() => {
        this.#askTimer = null;
        void this.#ask();
      }, ASK_AFTER_MS);
      this.#sendTimer = setTimeout(() => this.#sendWithout(), PATIENCE_MS);
    }
    this.#ports.changed();
  }

  /** Sends the values now. */
  send(): void {
    if (!this.open) return;
    const [values, preview] = [this.#values, this.#preview];
    this.#clear();
    this.#ports.send(values, preview.kind === 'refused' ? preview.reason : null);
  }

  /** Sends the values although nothing has been heard of what they would do. */
  #sendWithout(): void {
    this.#preview = { kind: 'refused', reason: `none came within ${PATIENCE_MS / 1000} s` };
    this.send();
  }

  /** Forgets the values. */
  drop(): void {
    this.#clear();
    this.#ports.changed();
  }

  #clear(): void {
    this.#values = {};
    this.#preview = { kind: 'asking' };
    this.#generation += 1;
    if (this.#askTimer !== null) clearTimeout(this.#askTimer);
    if (this.#sendTimer !== null) clearTimeout(this.#sendTimer);
    this.#askTimer = null;
    this.#sendTimer = null;
  }

  /** Asks for the values as they are. One question at a time: the trainer works a second on each. */
  async #ask(): Promise<void> {
    if (this.#inFlight) return;
    this.#inFlight = true;
    const generation = this.#generation;
    const answer = await this.#ports.preview(this.#values).then(
      (preview): PreviewState => ({ kind: 'known', preview }),
      (thrown: unknown): PreviewState => ({ kind: 'refused', reason: errorText(thrown) }),
    );
    this.#inFlight = false;
    if (!this.open) return;
    if (generation === this.#generation) this.#show(answer);
    else if (this.#askTimer === null) await this.#ask();
  }

  #show(answer: PreviewState): void {
    this.#preview = answer;
    const rest = answer.kind === 'known' ? SETTLE_MS : this.#movedAt + SETTLE_MS - Date.now();
    if (this.#sendTimer !== null) clearTimeout(this.#sendTimer);
    this.#sendTimer = setTimeout(() => this.send(), Math.max(0, rest));
    this.#ports.changed();
  }
}
