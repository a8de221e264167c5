import { z } from 'zod';
import type {
  Environment,
  EnvironmentDefinition,
  SlotResources,
  StepResult,
  ToolSource,
} from '../../envs/contract.ts';
import type { Action, Observation } from '../../src/domain/space.ts';

const answerSchema = z.object({ text: z.string() });

/**
 * An environment whose tools call a service: `lookup` reads a note, `order` changes something. It is asked over HTTP at
 * `options.url`, which answers `{ text }`; an answer that is no success is a tool that failed. Three calls are an episode.
 */
export const service: EnvironmentDefinition = {
  catalog: {
    env: 'service',
    version: '1',
    maxSteps: 3,
    families: [{ name: 'ask', train: 10, heldOut: 10 }],
  },
  tools: { lookup: { readOnly: true }, order: { readOnly: false } },
  createTask: (ref) => ({ ...ref, seed: ref.index, difficulty: 1, text: 'task ask three times', params: {} }),
  create: (options, resources) => new Service(String(options['url']), resources),
};

class Service implements Environment {
  readonly #url: string;
  readonly #source: ToolSource;
  #seen: string[] = [];

  constructor(url: string, resources: SlotResources | undefined) {
    this.#url = url;
    this.#source = resources?.toolSource ?? { call: async (_call, live) => await live() };
  }

  async reset(): Promise<Observation> {
    this.#seen = [await this.#ask('lookup', 'welcome')];
    return this.#observe();
  }

  async step({ argument }: Action): Promise<StepResult> {
    const [tool = '', what = ''] = (argument ?? '').split(' ');
    let ok = true;
    try {
      this.#seen.push(await this.#ask(tool, what));
    } catch (thrown) {
      if (!(thrown instanceof Error) || !thrown.message.startsWith('status ')) throw thrown;
      this.#seen.push(thrown.message);
      ok = false;
    }
    const terminated = this.#seen.length === 4;
    return {
      observation: this.#observe(),
      components: {},
      terminated,
      success: terminated,
      failure: null,
      effective: true,
      tool: { name: tool, ok },
    };
  }

  getState(): unknown {
    return this.#seen;
  }

  fullReset(): void {
    this.#seen = [];
  }

  close(): void {
    this.#seen = [];
  }

  async #ask(tool: string, what: string): Promise<string> {
    const answer = await this.#source.call({ tool, request: { what } }, async () => {
      const response = await fetch(`${this.#url}/${tool}/${what}`);
      if (!response.ok) throw new Error(`status ${response.status}`);
      return await response.json();
    });
    return answerSchema.parse(answer).text;
  }

  #observe(): Observation {
    return {
      lines: ['task ask three times', ...this.#seen],
      legal: ['input'],
      candidates: ['lookup stock', 'lookup price', 'order apples', 'lookup nothing'].map((text) => ({
        type: 'input',
        text,
        kind: 'call',
      })),
    };
  }
}
