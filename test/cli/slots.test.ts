import { expect, it } from 'vitest';
import { slotLines } from '../../src/cli/slots.ts';

it('shows control characters in what workers say as escapes', () => {
  const use = { slot: 0, stage: 'ready', waitMs: null, ageMs: 7, steps: 1, cpu: 0, tempBytes: 0 } as const;
  const lines = slotLines(
    [
      {
        worker: 'worker 0@\u001B[31m',
        slots: [{ ...use, episode: 'e1\n\u202E', openFiles: null }],
        stuck: null,
      },
      { worker: 'worker 1@\r', slots: null, stuck: { slot: 4, stage: 'step\u0007', ms: 5200 } },
    ],
    { sort: 'slot', limit: 10 },
  );
  expect(lines).toEqual([
    'worker 1@\\r does not answer: stuck in step\\x07, slot 4, 5.2 s',
    expect.stringMatching(/^WORKER +SLOT +STAGE/u),
    expect.stringMatching(/^worker 0@\\e\[31m +0 +ready +e1\\n\\u\{202e\} +7 ms/u),
    '1 of 1 slot',
  ]);
});
