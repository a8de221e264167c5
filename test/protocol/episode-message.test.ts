import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { findEnvironment } from '../../envs/registry.ts';
import { loadConfig } from '../../src/config/load.ts';
import { episodeId } from '../../src/domain/id.ts';
import {
  fromWorkerMessages,
  isWholeEpisode,
  packEpisode,
  unpackEpisode,
} from '../../src/protocol/episode-message.ts';
import { encodeFrame, FrameReader, PREAMBLE } from '../../src/protocol/frame.ts';
import { type FromWorker, fromWorkerSchema } from '../../src/protocol/worker.ts';
import { workerSettings } from '../../src/run/child-settings.ts';
import { SamplingWorker } from '../../src/sampling/worker.ts';
import { mixedSummary } from '../store/fixture.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** An episode message as it comes out of a frame. */
function messageOf(sequence: number): { [key: string]: Json } {
  const summary = mixedSummary(sequence);
  const tools = {
    calls: 2,
    failed: 1,
    byName: { move: { calls: 1, failed: 0 }, copy: { calls: 1, failed: 1, ms: 3 } },
  };
  const message = {
    type: 'episode',
    summary: {
      ...summary,
      tools,
      tags: ['chained'],
      ...(sequence % 2 === 0 ? {} : { agentRewards: { speaker: 1.5, listener: -1 } }),
    },
    bytes: 7,
    bootstrapValue: null,
    recycled: true,
    // Every other one is of several agents.
    ...(sequence % 2 === 0 ? {} : { agentValues: [0.5, 0] }),
  };
  return JSON.parse(JSON.stringify(message));
}

/** Every place in a value, as the keys that lead to it. */
function pathsOf(value: Json, before: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [before];
  return [before, ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...before, key]))];
}

/** The same with something else at a place, or nothing, or something beside it. */
function changed(
  value: Json,
  [key, ...rest]: readonly string[],
  change: 'set' | 'drop' | 'add',
  to: Json,
): Json {
  if (typeof value !== 'object' || value === null || key === undefined) return to;
  if (Array.isArray(value))
    return value.map((inner, i) => (String(i) === key ? changed(inner, rest, change, to) : inner));
  const entries = Object.entries(value).flatMap(([name, inner]): [string, Json][] => {
    if (name !== key) return [[name, inner]];
    if (rest.length > 0) return [[name, changed(inner, rest, change, to)]];
    if (change === 'drop') return [];
    return change === 'set'
      ? [[name, to]]
      : [
          [name, inner],
          ['another', to],
        ];
  });
  return Object.fromEntries(entries);
}

const ODD: readonly Json[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  -0.5,
  '',
  'e1',
  'episode',
  'train',
  [],
  [null],
  ['x'],
  {},
  { x: 1 },
  { x: 'y' },
];

it('what is accepted by hand the schema accepts too, and gives back as it is; it decides of all else', () => {
  fc.assert(
    fc.property(
      fc
        .nat(40)
        .map(messageOf)
        .chain((message) => fc.tuple(fc.constant(message), fc.constantFrom(...pathsOf(message)))),
      fc.constantFrom('set' as const, 'drop' as const, 'add' as const),
      fc.constantFrom(...ODD),
      ([message, path], change, to) => {
        const given = changed(message, path, change, to);
        const wanted = fromWorkerSchema.safeParse(given);
        const found = fromWorkerMessages.safeParse(given);
        expect({ success: found.success, data: found.data, issues: found.error?.issues }).toEqual({
          success: wanted.success,
          data: wanted.data,
          issues: wanted.error?.issues,
        });
      },
    ),
    { numRuns: 1500 },
  );
});

it('takes any whole message by hand, with and without what may be left out, and no other kind', () => {
  for (let n = 1; n <= 30; n++) expect(isWholeEpisode(messageOf(n)), `e${n}`).toBe(true);
  const { recycled: _recycled, agentValues: _values, ...without } = messageOf(1);
  expect(isWholeEpisode(without)).toBe(true);
  expect(isWholeEpisode({ ...messageOf(1), type: 'claim' })).toBe(false);
  for (const other of [null, 1, 'episode', [], {}, { type: 'sync' }])
    expect(isWholeEpisode(other)).toBe(false);
});

it('is the same after its way, with its summary and its tensors as one attachment each', () => {
  const message = fromWorkerSchema.parse(messageOf(3));
  const memory = Uint8Array.from({ length: 20 }, (_, i) => i);
  const [body, tokens, actions] = [memory.subarray(12), memory.subarray(0, 7), memory.subarray(7, 10)];
  const reader = new FrameReader();
  const sent = encodeFrame(...packEpisode(message, { body, tokens, actions }));
  const [frame] = reader.push(Buffer.concat([PREAMBLE, ...sent]));
  expect(unpackEpisode(frame!)).toEqual(message);
  expect(frame!.attachments).toEqual({
    summary: Buffer.from(JSON.stringify(messageOf(3)['summary'])),
    body: Buffer.from(body),
    samples: Buffer.from(memory.subarray(0, 10)),
  });
  // One that brings nothing to train on, and what is no episode.
  expect(Object.keys(packEpisode(message, { body })[1])).toEqual(['summary', 'body']);
  const claim = { type: 'claim' as const, count: 3 };
  expect(packEpisode(claim)).toEqual([claim, {}]);
  expect(unpackEpisode({ message: claim, attachments: {} })).toEqual(claim);
});

it('says what is wrong with a summary that is none', () => {
  const attachments = { summary: Buffer.from('{"id":') };
  expect(() => unpackEpisode({ message: { type: 'episode' }, attachments })).toThrow(
    'expected the summary of an episode, got what is not JSON',
  );
  const other = unpackEpisode({
    message: { type: 'episode', bytes: 1 },
    attachments: { summary: Buffer.from('7') },
  });
  expect(fromWorkerMessages.safeParse(other).success).toBe(false);
});

it.each(['components', 'tools'])('leaves a key that is no plain one to the schema: in %s', (part) => {
  const text = JSON.stringify(messageOf(1));
  const within = part === 'tools' ? '"byName":{' : '"components":{';
  const odd: unknown = JSON.parse(
    text.replace(within, `${within}"__proto__":${part === 'tools' ? '{"calls":1,"failed":0}' : '1'},`),
  );
  expect(isWholeEpisode(odd)).toBe(false);
});

it('takes what a worker sends by hand', async () => {
  const { config } = loadConfig(null, { file: 'demo' });
  const sent: FromWorker[] = [];
  const worker = await SamplingWorker.create({
    settings: { ...workerSettings(config), worker: 0, host: 'local', slots: 4, actor: 'random' },
    definition: await findEnvironment('workbench'),
    lifeline: { begin: () => undefined, end: () => undefined },
    send: (message) => void sent.push(message),
  });
  worker.dispatch(
    Array.from({ length: 20 }, (_, n) => ({
      id: episodeId(n + 1),
      task: { env: 'workbench', family: 'ordered', split: 'train' as const, index: n },
      seed: n,
      phase: 'train' as const,
      mode: 'sampled' as const,
      iteration: 1,
      attempt: 1,
    })),
  );
  worker.go();
  const episodes = () => sent.filter(({ type }) => type === 'episode');
  await vi.waitUntil(() => episodes().length === 20, { timeout: 30_000 });
  await worker.stop();
  for (const message of episodes()) expect(isWholeEpisode(JSON.parse(JSON.stringify(message)))).toBe(true);
});
