import type { SlotResources, ToolCall, ToolSource } from '../../envs/contract.ts';
import { errorText, LabError } from '../domain/error.ts';
import type { RecordedCall } from '../domain/tool.ts';

/** Lets the tools of one environment call out, and keeps what was asked and answered until it is taken. */
export class CallRecorder implements ToolSource {
  #calls: RecordedCall[] = [];
  /** Counts episodes: the late answer to a call of the one before is nobody's. */
  #episode = 0;

  /** Begins an episode. */
  begin(): void {
    this.#calls = [];
    this.#episode++;
  }

  /** JSON of the calls answered since the last time, in the order of their answers; undefined when there were none. */
  take(): string | undefined {
    if (this.#calls.length === 0) return undefined;
    const json = JSON.stringify(this.#calls);
    this.#calls = [];
    return json;
  }

  /** What the environment gets. Without a directory it has no temporary one. */
  resources(directory: SlotResources | undefined): SlotResources {
    return {
      tempDirectory: () => {
        if (directory !== undefined) return directory.tempDirectory();
        throw new LabError('environment-invalid', { message: 'there are no temporary directories here' });
      },
      toolSource: this,
    };
  }

  async call({ tool, request }: ToolCall, live: () => Promise<unknown>): Promise<unknown> {
    const episode = this.#episode;
    const started = performance.now();
    const asked = asJson(request);
    const add = (answer: Pick<RecordedCall, 'result' | 'error'>): void => {
      const ms = Math.round(performance.now() - started);
      if (episode === this.#episode) this.#calls.push({ tool, request: asked, ...answer, ms });
    };
    try {
      const result = asJson(await live());
      add({ result });
      return result;
    } catch (thrown) {
      add({ error: errorText(thrown) });
      throw thrown;
    }
  }
}

/** A copy as JSON carries it: nobody can change it afterwards, and in another execution it is the same. */
function asJson(value: unknown): unknown {
  const json: unknown = JSON.parse(JSON.stringify(value) ?? 'null');
  return json;
}
