import { describe, expect, it } from 'vitest';
import { Kept, KeptBy } from '../../views/kept.ts';

describe('Kept', () => {
  it('makes anew when an ingredient is another one, or there are more of them', () => {
    const kept = new Kept<number>();
    let made = 0;
    const get = (...of: readonly unknown[]): number => kept.get(of, () => ++made);
    expect([get(1, 'a'), get(1, 'a'), get(1, 'b'), get(1, 'a'), get(1, 'a', null), get()]).toEqual([
      1, 1, 2, 3, 4, 5,
    ]);
  });

  it('keeps what is undefined too, and nothing of what threw', () => {
    const kept = new Kept<string | undefined>();
    let made = 0;
    const make = (): undefined => void ++made;
    expect(() =>
      kept.get([1], () => {
        throw new Error('no');
      }),
    ).toThrow('no');
    kept.get([1], make);
    kept.get([1], make);
    expect(made).toBe(1);
  });
});

it('KeptBy keeps one for each object', () => {
  const kept = new KeptBy<object, string>();
  const [left, right] = [{}, {}];
  expect(kept.get(left, [1], () => 'left')).toBe('left');
  expect(kept.get(right, [1], () => 'right')).toBe('right');
  expect(kept.get(left, [1], () => 'other')).toBe('left');
  expect(kept.get(left, [2], () => 'other')).toBe('other');
});
