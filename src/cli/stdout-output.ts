import type { ByteOutput } from '../interop/byte-output.ts';

/** An export that goes to stdout, as fast as its reader takes it. */
export class StdoutOutput implements ByteOutput {
  #full = false;

  write(bytes: Uint8Array): void {
    this.#full = !process.stdout.write(bytes);
  }

  async drained(): Promise<void> {
    if (!this.#full) return;
    await new Promise<void>((resolve) => {
      process.stdout.once('drain', () => resolve());
    });
    this.#full = false;
  }

  async finish(): Promise<void> {
    await this.drained();
  }

  /** What a reader has taken cannot be taken back. */
  abandon(): void {
    this.#full = false;
  }
}
