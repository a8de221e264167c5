import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { episodeBodySchema } from '../../src/domain/episode.ts';
import { episodeId } from '../../src/domain/id.ts';
import { actionLayout, policySpecSchema } from '../../src/domain/policy-spec.ts';
import type { Action } from '../../src/domain/space.ts';
import { type Comparison, compareExecutions } from '../../src/replay/compare.ts';
import { executeEpisode } from '../../src/replay/execute.ts';
import { executionRequest, recordedExecution } from '../../src/replay/recorded.ts';
import { toolScoresOf } from '../../src/replay/score.ts';
import type { FinishedEpisode } from '../../src/sampling/finished-episode.ts';
import { Slot } from '../../src/sampling/slot.ts';
import type { StoredEpisode } from '../../src/store/queries.ts';
import { service } from '../support/service-environment.ts';
import { settingsOf } from '../support/worker-settings.ts';

const policy = policySpecSchema.parse({});
const TASK = { env: 'service', family: 'ask', split: 'train', index: 1 } as const;

let server: Server;
let url: string;
/** Paths that were asked for. */
let asked: string[];
/** What the service says to a path; null: it has not got it. */
let answer: (path: string) => string | null;

beforeEach(async () => {
  asked = [];
  answer = (path) => (path === '/lookup/nothing' ? null : `${path} is fine`);
  server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const text = answer(path);
    response.writeHead(text === null ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ text }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address: AddressInfo | string | null = server.address();
  url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** An episode of these calls, as it is stored. */
async function sample(...calls: string[]): Promise<StoredEpisode> {
  const waiting: { wake?: () => void } = {};
  const finished: FinishedEpisode[] = [];
  const slot = new Slot(
    {
      settings: settingsOf({ env: { name: 'service', options: { url } }, policy, maxSteps: 3 }),
      definition: service,
      layout: actionLayout(policy),
      lifeline: { begin: () => undefined, end: () => undefined },
      stepPace: { ms: 0 },
      onFinished: (_slot, episode) => {
        finished.push(episode);
        waiting.wake?.();
      },
      onReady: () => waiting.wake?.(),
    },
    0,
  );
  const change = async (): Promise<void> => await new Promise((resolve) => (waiting.wake = resolve));
  slot.begin({
    id: episodeId(1),
    task: TASK,
    seed: 5,
    phase: 'eval',
    mode: 'sampled',
    iteration: 1,
    attempt: 1,
  });
  await change();
  for (const argument of calls) {
    const action: Action = { type: 'input', argument };
    const decision = { action, probability: 1, value: 0, entropy: 0, policyVersion: 1 };
    const logProbabilities = new Float32Array();
    const row = { row: 0, observations: {}, logProbabilities, action: 0, value: 0, policyVersion: 1 };
    slot.act(decision, row);
    await change();
  }
  const [episode] = finished;
  if (episode === undefined) throw new Error('the episode did not end');
  const body = episodeBodySchema.parse(JSON.parse(Buffer.from(episode.body).toString('utf8')));
  return { summary: episode.summary, body };
}

async function replay(
  episode: StoredEpisode,
  liveTools: boolean,
): Promise<Comparison & { tools: ReturnType<typeof toolScoresOf> }> {
  asked = [];
  const env = { name: 'service', options: { url } };
  const request = executionRequest(episode, { env, rewards: {}, stepTimeoutMs: 5000, liveTools });
  const execution = await executeEpisode(service, request);
  const recorded = recordedExecution(episode);
  return { ...compareExecutions(recorded, execution), tools: toolScoresOf(recorded, execution) };
}

describe('an environment whose tools call a service', () => {
  it('has what they got in its record, errors too, before the first step and in each', async () => {
    const { body, summary } = await sample('lookup stock', 'order apples', 'lookup nothing');
    expect(summary).toMatchObject({ success: true, tools: { calls: 3, failed: 1 } });
    expect(body.resetCalls).toEqual([
      {
        tool: 'lookup',
        request: { what: 'welcome' },
        result: { text: '/lookup/welcome is fine' },
        ms: expect.any(Number),
      },
    ]);
    expect(body.steps.map(({ calls }) => calls?.map(({ tool, error }) => [tool, error]))).toEqual([
      [['lookup', undefined]],
      [['order', undefined]],
      [['lookup', 'status 404']],
    ]);
  });

  it('is done again without the service, which may be gone', async () => {
    const episode = await sample('lookup stock', 'order apples', 'lookup nothing');
    server.closeAllConnections();
    server.close();
    expect(await replay(episode, false)).toMatchObject({
      verdict: 'identical',
      reason: 'the same, in 3 steps',
      tools: [
        { tool: 'lookup', calls: 2, same: 2 },
        { tool: 'order', calls: 1, same: 1 },
      ],
    });
  });

  it('asks the service again where that is wanted, but only what changes nothing', async () => {
    const episode = await sample('lookup stock', 'order apples', 'lookup nothing');
    const again = await replay(episode, true);
    expect(again.verdict).toBe('identical');
    expect(asked).toEqual(['/lookup/welcome', '/lookup/stock', '/lookup/nothing']);
    expect(again.notes.some((note) => note.startsWith('calls of tools that were made again took'))).toBe(
      true,
    );
  });

  it('has drifted by its tool where the service says something else, or fails', async () => {
    const episode = await sample('lookup stock', 'order apples', 'lookup price');
    answer = (path) => (path === '/lookup/stock' ? 'sold out' : `${path} is fine`);
    const other = await replay(episode, true);
    expect(other.verdict).toBe('tool drift');
    expect(other.reason).toBe(
      'tool at step 1: lookup {"text":"/lookup/stock is fine"} became {"text":"sold out"}',
    );
    // The welcome, the answer that differs and the price were asked for; besides, three uses.
    expect(other.tools).toEqual([
      { tool: 'lookup', calls: 5, same: 4 },
      { tool: 'order', calls: 1, same: 1 },
    ]);
    answer = (path) => (path === '/lookup/price' ? null : `${path} is fine`);
    const failed = await replay(episode, true);
    expect(failed).toMatchObject({ verdict: 'tool drift' });
    expect(failed.differences.map(({ kind, step }) => [kind, step]).slice(0, 2)).toEqual([
      ['tool', 3],
      ['tool', 3],
    ]);
    // Served from the record, none of that shows.
    expect((await replay(episode, false)).verdict).toBe('identical');
  });

  it('is broken where a tool is asked what is not in the record, and says so', async () => {
    const episode = await sample('lookup stock', 'order apples', 'lookup price');
    const steps = episode.body.steps.map((step, index) => (index === 1 ? { ...step, calls: [] } : step));
    const again = await replay({ ...episode, body: { ...episode.body, steps } }, true);
    expect(again.verdict).toBe('broken');
    expect(again.reason).toBe(
      'the environment failed in step at step 2: the tool "order" was asked what is not in the record, and it may not be called again',
    );
    expect(again.differences).toEqual([
      { kind: 'call', step: 2, recorded: 'no such call', executed: 'a call of order', cosmetic: false },
    ]);
    expect(asked).not.toContain('/order/apples');
  });
});

it('a tool that comes to something else without calling out is a drift of the tool too', async () => {
  const episode = await sample('lookup stock', 'order apples', 'lookup price');
  const steps = episode.body.steps.map((step, index) =>
    index === 1 ? { ...step, tool: { name: 'order', ok: false, attempts: 2 } } : step,
  );
  const again = await replay({ ...episode, body: { ...episode.body, steps } }, false);
  expect(again).toMatchObject({
    verdict: 'tool drift',
    reason: 'tool at step 2: order failed in 2 attempts became order done',
  });
});
