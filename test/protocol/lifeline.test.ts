import { expect, it } from 'vitest';
import { parseLifelineNews } from '../../src/protocol/lifeline.ts';

it('reads what the watching thread says, and nothing else', () => {
  expect(parseLifelineNews('@agentrl-lab stuck 17 1 2003 5 812')).toEqual({
    kind: 'stuck',
    subject: 17,
    stage: 'step',
    ms: 2003,
    slot: 5,
    memoryMiB: 812,
  });
  expect(parseLifelineNews('@agentrl-lab left 3 0 5 0 0')).toMatchObject({ kind: 'left', stage: 'reset' });
  for (const line of ['', 'stuck 17 1 2003', '@agentrl-lab sulks 1 1 1', '@agentrl-lab busy 1 7 1 0 0']) {
    expect(parseLifelineNews(line)).toBeNull();
  }
});
