import type { ToolCall, ToolContract, ToolSource } from '../../envs/contract.ts';
import { errorText } from '../domain/error.ts';
import { stableJson } from '../domain/stable-json.ts';
import type { ExecutedCall, ExecutionRequest } from '../protocol/replay.ts';

type RecordedStepCall = ExecutionRequest['calls'][number];

/** Characters kept of an answer, to be shown. */
const SHORT = 300;

/**
 * Answers the calls of tools from the record of an episode: each call of the same tool with the same request gets the next of the
 * recorded answers, errors included. With `live`, tools that declare themselves read-only are called instead, and their answers
 * compared with the recorded ones; the others never are.
 */
export class RecordedTools implements ToolSource {
  readonly #left = new Map<string, RecordedStepCall[]>();
  readonly #contracts: Readonly<Record<string, ToolContract>>;
  readonly #live: boolean;
  readonly #made: ExecutedCall[] = [];
  /** The step that is under way, from 1; 0 before the first. */
  step = 0;

  constructor(
    { calls, liveTools }: Pick<ExecutionRequest, 'calls' | 'liveTools'>,
    contracts: Readonly<Record<string, ToolContract>>,
  ) {
    this.#contracts = contracts;
    this.#live = liveTools;
    for (const call of calls) {
      const key = keyOf(call);
      this.#left.set(key, [...(this.#left.get(key) ?? []), call]);
    }
  }

  /** The calls so far. */
  get made(): readonly ExecutedCall[] {
    return this.#made;
  }

  async call(call: ToolCall, live: () => Promise<unknown>): Promise<unknown> {
    const recorded = this.#left.get(keyOf(call))?.shift();
    const { step } = this;
    const isReadOnly =
      Object.hasOwn(this.#contracts, call.tool) && this.#contracts[call.tool]?.readOnly === true;
    if (this.#live && isReadOnly) return await this.#ask(call.tool, step, recorded, live);
    const [text, recordedMs] = [recorded === undefined ? null : answerText(recorded), recorded?.ms ?? null];
    const noted = {
      step,
      tool: call.tool,
      recorded: short(text),
      executed: short(text),
      recordedMs,
      ms: null,
    };
    this.#made.push({
      ...noted,
      from: recorded === undefined ? 'nowhere' : 'record',
      same: recorded !== undefined,
    });
    if (recorded === undefined) throw new Error(missing(call.tool, isReadOnly));
    if (recorded.error !== undefined) throw new Error(recorded.error);
    // A copy: what the environment does to it must not change the record.
    return structuredClone(recorded.result);
  }

  async #ask(
    tool: string,
    step: number,
    recorded: RecordedStepCall | undefined,
    live: () => Promise<unknown>,
  ): Promise<unknown> {
    const started = performance.now();
    const note = (executed: string): void => {
      const text = recorded === undefined ? null : answerText(recorded);
      this.#made.push({
        step,
        tool,
        from: 'outside',
        // Nothing to compare with is no difference: the call itself is new.
        same: text === null || text === executed,
        recorded: short(text),
        executed: short(executed),
        recordedMs: recorded?.ms ?? null,
        ms: Math.round(performance.now() - started),
      });
    };
    try {
      const result: unknown = JSON.parse(JSON.stringify(await live()) ?? 'null');
      note(answerText({ result }));
      return result;
    } catch (thrown) {
      note(answerText({ error: errorText(thrown) }));
      throw thrown;
    }
  }
}

function keyOf({ tool, request }: Pick<RecordedStepCall, 'tool' | 'request'>): string {
  return `${tool} ${stableJson(request)}`;
}

function answerText({ result, error }: Pick<RecordedStepCall, 'result' | 'error'>): string {
  return error === undefined ? stableJson(result) : `error: ${error}`;
}

function short(text: string | null): string | null {
  return text === null || text.length <= SHORT ? text : `${text.slice(0, SHORT)}…`;
}

function missing(tool: string, isReadOnly: boolean): string {
  const why = `the tool ${JSON.stringify(tool)} was asked what is not in the record`;
  return isReadOnly ? `${why}; it only reads: --live calls it` : `${why}, and it may not be called again`;
}
