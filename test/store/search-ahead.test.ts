import { expect, it } from 'vitest';
import { runPaths } from '../../src/store/run-directory.ts';
import { SearchAhead } from '../../src/store/search-ahead.ts';

class FakeDesk {
  readonly asked: string[] = [];
  closed = 0;

  async ask({ kind }: { readonly kind: string }): Promise<never> {
    this.asked.push(kind);
    return await Promise.reject(new Error('there is no index'));
  }

  async close(): Promise<void> {
    this.closed += 1;
    return await Promise.resolve();
  }
}

function opened(): { readonly ahead: SearchAhead<FakeDesk>; readonly desks: FakeDesk[] } {
  const desks: FakeDesk[] = [];
  const ahead = new SearchAhead(() => {
    const desk = new FakeDesk();
    desks.push(desk);
    return desk;
  });
  return { ahead, desks };
}

it('gives the run that it has read to the first who asks for it, and is not stopped by what is wrong with it', async () => {
  const { ahead, desks } = opened();
  ahead.begin(runPaths('runs', 'a'));
  await new Promise(setImmediate);
  expect(desks[0]!.asked).toEqual(['search']);
  expect(ahead.take(runPaths('runs', 'b'))).toBeNull();
  expect(ahead.take(runPaths('runs', 'a'))).toBe(desks[0]);
  expect(ahead.take(runPaths('runs', 'a'))).toBeNull();
  ahead.drop();
  expect(desks.map(({ closed }) => closed)).toEqual([0]);
});

it('keeps one: the one before is closed, and so is one that nobody took', () => {
  const { ahead, desks } = opened();
  ahead.begin(runPaths('runs', 'a'));
  ahead.begin(runPaths('runs', 'b'));
  expect(desks.map(({ closed }) => closed)).toEqual([1, 0]);
  expect(ahead.take(runPaths('runs', 'a'))).toBeNull();
  ahead.drop();
  expect(desks.map(({ closed }) => closed)).toEqual([1, 1]);
  ahead.drop();
  expect(desks.map(({ closed }) => closed)).toEqual([1, 1]);
});
