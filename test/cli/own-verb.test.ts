import { expect, it } from 'vitest';
import { answerOf } from '../../src/cli/own-verb.ts';
import { LabError } from '../../src/domain/error.ts';

const WORDS = ['archive', 'demo-1'];

function answer(stdout: string, stderr = '', failed = false): unknown[] {
  return answerOf(WORDS, { failed, stdout, stderr });
}

function errorOf(stdout: string, stderr: string): LabError {
  try {
    answer(stdout, stderr, true);
  } catch (thrown) {
    if (thrown instanceof LabError) return thrown;
  }
  throw new Error('nothing was refused');
}

it('what a verb prints as JSON is its answer, an exit code of 1 or not', () => {
  expect(answer('{"run":"a"}\nnot JSON\n{broken\n{"run":"b"}\n')).toEqual([{ run: 'a' }, { run: 'b' }]);
  expect(answer('{"score":[]}\n', 'a note', true)).toEqual([{ score: [] }]);
  expect(answer('')).toEqual([]);
});

it('what a verb says of its failure is thrown as it was', () => {
  const said = { code: 'run-locked', message: 'run demo-1 is live', hint: 'stop it first' };
  expect(errorOf('', `a note\n${JSON.stringify({ error: said })}\n`)).toMatchObject(said);
  const bare = errorOf('{"run":"a"}', JSON.stringify({ error: { ...said, hint: null } }));
  expect(bare).toMatchObject({ code: 'run-locked', hint: undefined });
});

it('one that ends without an answer has failed, with what it said last', () => {
  const error = errorOf('', 'Killed\n');
  expect(error).toMatchObject({
    code: 'child-failed',
    message: 'agentrl-lab archive demo-1 failed: Killed',
  });
  expect(errorOf('', '{"error":{"code":"unheard-of","message":"x"}}').code).toBe('child-failed');
});
