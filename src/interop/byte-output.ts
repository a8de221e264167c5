import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { LabError } from '../domain/error.ts';
import { syncDirectory } from '../store/atomic-file.ts';
import { storeError } from '../store/store-error.ts';

/** Where an export goes, from its first byte to its last. */
export interface ByteOutput {
  write(bytes: Uint8Array): void;
  /** Waits until so much has been taken that more may be written. */
  drained(): Promise<void>;
  /** All of it is written: makes it count. */
  finish(): Promise<void>;
  /** It came to nothing: takes back what can be taken back. Harmless after `finish`. */
  abandon(): void;
}

/**
 * A file that is there whole, or not at all: it has another name until `finish`. Throws `usage` for one that exists unless
 * `replace`; `disk-full` or `run-unwritable` where it cannot be written.
 */
export class FileOutput implements ByteOutput {
  readonly #path: string;
  readonly #temporary: string;
  #file: number | null;

  constructor(path: string, options: { readonly replace: boolean }) {
    if (!options.replace && existsSync(path)) {
      throw new LabError('usage', {
        message: `${path} exists already`,
        hint: 'name another file, or replace it with --force',
      });
    }
    this.#path = path;
    this.#temporary = `${path}.${process.pid}.tmp`;
    try {
      this.#file = openSync(this.#temporary, 'w');
    } catch (thrown) {
      throw storeError(thrown, 'write', path);
    }
  }

  write(bytes: Uint8Array): void {
    const file = this.#open();
    try {
      for (let done = 0; done < bytes.byteLength; ) done += writeSync(file, bytes, done);
    } catch (thrown) {
      throw storeError(thrown, 'write', this.#path);
    }
  }

  async drained(): Promise<void> {
    // What is written has been taken; signals still want to be heard between two chunks.
    await new Promise((resolve) => setImmediate(resolve));
  }

  async finish(): Promise<void> {
    const file = this.#open();
    try {
      fsyncSync(file);
      closeSync(file);
      this.#file = null;
      renameSync(this.#temporary, this.#path);
      syncDirectory(dirname(this.#path));
    } catch (thrown) {
      throw storeError(thrown, 'write', this.#path);
    }
    await Promise.resolve();
  }

  abandon(): void {
    if (this.#file === null) return;
    closeSync(this.#file);
    this.#file = null;
    rmSync(this.#temporary, { force: true });
  }

  #open(): number {
    if (this.#file !== null) return this.#file;
    throw new LabError('internal', { message: `${this.#path} is closed already` });
  }
}
