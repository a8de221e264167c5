import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dealInTurn } from '../../src/run/deal.ts';

test('nobody gets more than fits, all are filled where there is enough, and shares are alike where there is not', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 30 })),
      fc.integer({ min: 0, max: 200 }),
      (room, available) => {
        let left = available;
        const dealt = dealInTurn(room, () => (left > 0 ? left-- : null));
        const all = room.reduce((sum, each) => sum + each, 0);
        expect(dealt.flat()).toHaveLength(Math.min(all, available));
        const shares = dealt.map(({ length }) => length);
        const most = Math.max(0, ...shares);
        for (const [place, share] of shares.entries()) {
          expect(share).toBeLessThanOrEqual(room[place]!);
          expect(share).toBeGreaterThanOrEqual(Math.min(room[place]!, most - 1));
        }
      },
    ),
  );
});

test('who is given nothing is not asked again, and the others are', () => {
  const asked: number[] = [];
  const dealt = dealInTurn([3, 3, 0], (place) => {
    asked.push(place);
    return place === 0 ? null : place;
  });
  expect(dealt).toEqual([[], [1, 1, 1], []]);
  expect(asked).toEqual([0, 1, 1, 1]);
});
