import type { z } from 'zod';
import { seconds } from '../domain/figure-text.ts';
import type { HostSpec } from '../domain/host.ts';
import type { ChildStatus } from '../domain/run.ts';
import type { Child, ChildExit } from '../hosts/host.ts';
import { spawnChild } from '../hosts/spawn.ts';
import { type Connection, connect } from '../protocol/connection.ts';
import type { Attachments, Frame } from '../protocol/frame.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';

export interface RestartPolicy {
  /** Restarts in a row, without anything useful in between, after which the child is given up. */
  readonly maxRestarts: number;
  /** Wait before the first restart, ms; doubled for each further one, at most 10 s. */
  readonly backoffMs: number;
  /** Silence, ms, after which a child that was ready is taken for hung and killed. */
  readonly heartbeatMs: number;
  /** Steps of `nice` by which a child on this machine is less urgent than what people type into. */
  readonly nice: number;
}

export interface ChildLinkOptions<Incoming> {
  readonly role: 'worker' | 'trainer';
  readonly index: number;
  readonly host: HostSpec;
  readonly restart: RestartPolicy;
  readonly schema: Pick<z.ZodType<Incoming>, 'safeParse'>;
  readonly unpack?: (frame: Frame) => unknown;
  /** The child is up and speaks our version: tell it what to do. */
  readonly onHello: () => void;
  readonly onMessage: (message: Incoming, attachments: Attachments) => void;
  readonly onStderr: (line: string) => void;
  /**
   * It is gone, for this reason; `retryMs` is when it is started again, null when it was given up. `asked`: somebody wanted it
   * started anew.
   */
  readonly onLost: (reason: string, retryMs: number | null, asked: boolean) => void;
}

const MAX_BACKOFF_MS = 10_000;
/** A child that is still loading its native modules may be silent for longer. */
const START_TIMEOUT_MS = 60_000;

type LinkState = ChildStatus['state'];

/**
 * One worker or trainer: starts it, restarts it when it dies or falls silent, gives it up when that does not help.
 * The first message of a child is `hello`; it counts as ready once `markReady` was called.
 */
export class ChildLink<Outgoing extends object, Incoming extends { readonly type: string }> {
  readonly #options: ChildLinkOptions<Incoming>;
  #child: Child | null = null;
  #connection: Connection<Outgoing> | null = null;
  #state: LinkState = 'starting';
  #failures = 0;
  #restarts = 0;
  #lastSeen = Date.now();
  /** Why we killed it, if we did. */
  #killedFor: string | null = null;
  #retry: NodeJS.Timeout | null = null;
  /** Somebody wants it started anew: its end is no failure. */
  #asked = false;
  #closing = false;

  constructor(options: ChildLinkOptions<Incoming>) {
    this.#options = options;
  }

  get name(): string {
    const { role, index, host } = this.#options;
    return role === 'worker' ? `worker ${index}@${host.name}` : `trainer@${host.name}`;
  }

  get state(): LinkState {
    return this.#state;
  }

  /** Its state in the shape that clients see; the caller adds what only it knows. */
  status(): Omit<ChildStatus, 'slots' | 'busySlots' | 'rssMiB' | 'provider' | 'resources' | 'drain'> {
    return {
      role: this.#options.role,
      index: this.#options.index,
      host: this.#options.host.name,
      pid: this.#child?.pid ?? null,
      state: this.#state,
      restarts: this.#restarts,
      silentMs: Date.now() - this.#lastSeen,
    };
  }

  start(): void {
    const { host, role, restart, onStderr } = this.#options;
    this.#state = this.#restarts === 0 ? 'starting' : 'restarting';
    this.#lastSeen = Date.now();
    this.#killedFor = null;
    const child = spawnChild(host, role, { onStderrLine: onStderr, nice: restart.nice });
    this.#child = child;
    this.#connection = connect<Incoming, Outgoing>({
      input: child.stdout,
      output: child.stdin,
      schema: this.#options.schema,
      unpack: this.#options.unpack,
      onMessage: (message, attachments) => {
        if (child === this.#child) this.#receive(message, attachments);
      },
      onClose: (error) => {
        if (error !== null && child === this.#child) {
          this.#killedFor = `was killed: ${error.message}`;
          child.kill();
        }
      },
    });
    void this.#watch(child);
  }

  send(message: Outgoing, attachments?: Attachments): void {
    this.#connection?.send(message, attachments);
  }

  markReady(): void {
    this.#state = 'ready';
  }

  /** It gave a sign of life other than a message. */
  markAlive(): void {
    this.#lastSeen = Date.now();
  }

  /** It has done something useful: the next failure is the first one again. */
  markUseful(): void {
    this.#failures = 0;
  }

  /** Its silence until now is nobody's fault: this process was asleep itself. */
  excuse(): void {
    this.#lastSeen = Date.now();
  }

  /** Kills it if it has been silent for too long; to be called a few times a second. */
  checkHeartbeat(): void {
    if (this.#child === null) return;
    const limit = this.#state === 'ready' ? this.#options.restart.heartbeatMs : START_TIMEOUT_MS;
    const silent = Date.now() - this.#lastSeen;
    if (silent < limit) return;
    this.#killedFor = `was silent for ${seconds(silent)} and was killed`;
    this.#child.kill();
  }

  /** Tries a child that was given up once more. */
  revive(): void {
    if (this.#state !== 'dead') return;
    this.#failures = 0;
    this.start();
  }

  /**
   * Starts it anew because somebody asked, whatever became of it. With a `message` it is told to end by itself, and killed when
   * it has not within `graceMs`; without one it is killed.
   */
  restart(reason: string, message: Outgoing | null, graceMs: number): void {
    if (this.#closing) return;
    this.#failures = 0;
    const child = this.#child;
    if (child === null) {
      if (this.#retry !== null) clearTimeout(this.#retry);
      this.#restarts++;
      this.start();
      return;
    }
    this.#asked = true;
    // From now on nothing is given to it.
    this.#state = 'restarting';
    this.#killedFor = reason;
    if (message === null) {
      child.kill();
      return;
    }
    this.send(message);
    const timer = setTimeout(() => child.kill(), graceMs);
    void child.exited.then(() => clearTimeout(timer));
  }

  /** Asks it to end, and kills its process group when it has not within `graceMs`. Resolves when it is gone. */
  async stop(message: Outgoing, graceMs: number): Promise<void> {
    this.#closing = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    const child = this.#child;
    if (child === null) return;
    this.send(message);
    this.#connection?.close();
    const timer = setTimeout(() => child.kill(), graceMs);
    await child.exited;
    clearTimeout(timer);
    // Whatever it left behind in its group goes too.
    child.kill();
    this.#child = null;
  }

  #receive(message: Incoming, attachments: Attachments): void {
    this.#lastSeen = Date.now();
    if (message.type === 'hello') {
      const theirs = 'protocol' in message ? message.protocol : undefined;
      if (theirs !== PROTOCOL_VERSION) {
        this.#killedFor = `was killed: it speaks protocol ${String(theirs)}, this run speaks ${PROTOCOL_VERSION}`;
        this.#child?.kill();
        return;
      }
      this.#options.onHello();
      return;
    }
    this.#options.onMessage(message, attachments);
  }

  async #watch(child: Child): Promise<void> {
    const exit = await child.exited;
    if (child === this.#child) this.#lost(this.#exitReason(exit));
  }

  #exitReason(exit: ChildExit): string {
    if (this.#killedFor !== null) return this.#killedFor;
    if (exit.error !== null) return exit.error.message;
    return exit.signal === null ? `exited with code ${exit.code}` : `was ended by ${exit.signal}`;
  }

  #lost(reason: string): void {
    this.#child?.kill();
    this.#child = null;
    this.#connection = null;
    if (this.#closing) return;
    if (this.#asked) {
      this.#asked = false;
      this.#state = 'restarting';
      this.#options.onLost(reason, 0, true);
      this.#restarts++;
      this.start();
      return;
    }
    this.#failures++;
    if (this.#failures > this.#options.restart.maxRestarts) {
      this.#state = 'dead';
      this.#options.onLost(reason, null, false);
      return;
    }
    this.#state = 'restarting';
    const wait = Math.min(MAX_BACKOFF_MS, this.#options.restart.backoffMs * 2 ** (this.#failures - 1));
    this.#options.onLost(reason, wait, false);
    this.#retry = setTimeout(() => {
      this.#restarts++;
      this.start();
    }, wait);
  }
}
