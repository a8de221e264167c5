import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { RunPaths } from './run-directory.ts';

/** The screens of a run that it is opened on again. */
export const REMEMBERED_SCREENS = ['overview', 'episodes', 'hosts', 'pipeline', 'events'] as const;

const chartsSchema = z.object({
  page: z.string().catch('run'),
  smoothing: z.number().catch(0),
  log: z.boolean().catch(false),
  /** First and last iteration shown; null: all. */
  window: z.tuple([z.int(), z.int()]).nullable().catch(null),
  /** The window goes along with the newest iteration. */
  isAtEnd: z.boolean().catch(false),
});

/** Every part that cannot be understood is as it was at first: it may be of another version, or damaged. */
const viewStateSchema = z.object({
  screen: z.enum(REMEMBERED_SCREENS).catch('overview'),
  filter: z.string().catch(''),
  /** Outcome that alone is listed, or null. */
  outcome: z.string().nullable().catch(null),
  columns: z.array(z.string()).nullable().catch(null),
  facets: z.boolean().catch(true),
  /** The episode that the pointer was on, or null while the list followed new ones. */
  selected: z.string().nullable().catch(null),
  charts: chartsSchema.catch({ page: 'run', smoothing: 0, log: false, window: null, isAtEnd: false }),
});

/** How somebody looked at a run when they left it. */
export type ViewState = Readonly<z.infer<typeof viewStateSchema>>;

/**
 * How a run was looked at, in a file beside its data that the run never touches. Several screens may have the run open: each writes
 * when its own view has changed, and the last one to leave is remembered. That it cannot be read or written disturbs nobody.
 */
export class ViewMemory {
  readonly #path: string;
  /** What the file says as far as this screen knows, or what it has been asked to say. */
  #known = '';

  constructor({ root }: RunPaths) {
    this.#path = join(root, 'view.json');
  }

  /** Null where nothing is remembered. */
  read(): ViewState | null {
    try {
      return viewStateSchema.parse(JSON.parse(readFileSync(this.#path, 'utf8')));
    } catch {
      return null;
    }
  }

  /** Takes a state for what is remembered already. */
  assume(state: ViewState): void {
    this.#known = textOf(state);
  }

  /** Writes a state that is another one, beside the drawing. */
  async keep(state: ViewState): Promise<void> {
    const text = textOf(state);
    if (text === this.#known) return;
    this.#known = text;
    const temporary = this.#temporary('tick');
    try {
      await writeFile(temporary, text);
      // Another state may have been written at once meanwhile.
      if (this.#known === text) await rename(temporary, this.#path);
      else await rm(temporary, { force: true });
    } catch {
      await rm(temporary, { force: true });
    }
  }

  /** The same at once, for a screen that ends. */
  keepNow(state: ViewState): void {
    const text = textOf(state);
    if (text === this.#known) return;
    this.#known = text;
    const temporary = this.#temporary('end');
    try {
      writeFileSync(temporary, text);
      renameSync(temporary, this.#path);
    } catch {
      rmSync(temporary, { force: true });
    }
  }

  #temporary(which: string): string {
    return `${this.#path}.${process.pid}.${which}.tmp`;
  }
}

function textOf(state: ViewState): string {
  return `${JSON.stringify(state, null, 2)}\n`;
}
