import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { IterationRows } from '../../src/store/iteration-rows.ts';

interface Made {
  readonly iteration: number;
  readonly attempt: number;
}

/** Attempts that each begin again somewhere before where one was lost, and do some iterations. */
const histories: fc.Arbitrary<Made[]> = fc
  .array(fc.record({ back: fc.nat(12), length: fc.nat(10) }), { minLength: 1, maxLength: 6 })
  .map((attempts) => {
    let reached = 0;
    return attempts.flatMap(({ back, length }, index) => {
      const first = Math.max(1, reached + 1 - back);
      if (length > 0) reached = first + length - 1;
      return Array.from({ length }, (_, step) => ({ iteration: first + step, attempt: index + 1 }));
    });
  });

/** Those that no later attempt has begun at or before. */
function counting(made: readonly Made[]): Made[] {
  return made
    .filter(
      (one) => !made.some(({ iteration, attempt }) => attempt > one.attempt && iteration <= one.iteration),
    )
    .toSorted((left, right) => left.iteration - right.iteration);
}

it('of resumed runs are those that count, however they are read', () => {
  fc.assert(
    fc.property(
      histories,
      fc.array(fc.nat(40), { maxLength: 6 }),
      fc.boolean(),
      (made, places, isResumed) => {
        const database = new Database(':memory:');
        database.exec(
          `CREATE TABLE iterations (iteration INTEGER NOT NULL, attempt INTEGER NOT NULL, metrics TEXT NOT NULL,
           PRIMARY KEY (iteration, attempt)) STRICT, WITHOUT ROWID`,
        );
        const insert = database.prepare('INSERT INTO iterations VALUES (?, ?, ?)');
        for (const { iteration, attempt } of made) insert.run(iteration, attempt, '{}');
        const newest = Math.max(1, ...made.map(({ attempt }) => attempt)) + Number(isResumed);
        const rows = new IterationRows(database, () => newest);
        const each = (after: number, until: number): Made[] =>
          [...rows.each(after, until)].map(({ iteration, attempt }) => ({ iteration, attempt }));
        const plain = (after: number, until: number): Made[] =>
          rows.between(after, until).map(({ iteration, attempt }) => ({ iteration, attempt }));
        expect(plain(0, Number.MAX_SAFE_INTEGER)).toEqual(counting(made));
        expect(each(0, Number.MAX_SAFE_INTEGER)).toEqual(counting(made));
        for (const [index, place] of places.entries()) {
          const [after, until] = [place, place + 3 + index];
          expect(plain(after, until)).toEqual(
            counting(made).filter(({ iteration }) => iteration > after && iteration <= until),
          );
          expect(each(after, until)).toEqual(plain(after, until));
          expect(rows.successAfter(after)).toEqual(
            counting(made)
              .filter(({ iteration }) => iteration > after)
              .map((row) => ({ ...row, heldOut: null, train: null })),
          );
        }
        database.close();
      },
    ),
  );
});

it('that come while they are followed are found', () => {
  const database = new Database(':memory:');
  let newest = 1;
  database.exec('CREATE TABLE iterations (iteration INTEGER, attempt INTEGER, metrics TEXT)');
  const rows = new IterationRows(database, () => newest);
  expect([rows.last(), rows.between(0, 100)]).toEqual([0, []]);
  database.exec(`INSERT INTO iterations VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 1, 'c')`);
  expect(rows.between(0, 100).map(({ metrics }) => metrics)).toEqual(['a', 'b', 'c']);
  newest = 2;
  expect(rows.between(1, 100)).toHaveLength(2);
  expect(rows.between(2, 100)).toHaveLength(1);
  database.exec(`INSERT INTO iterations VALUES (2, 2, 'd')`);
  expect(rows.between(1, 100).map(({ metrics }) => metrics)).toEqual(['d']);
  database.exec(`INSERT INTO iterations VALUES (3, 2, 'e')`);
  expect(rows.between(2, 100).map(({ metrics }) => metrics)).toEqual(['e']);
  expect(rows.last()).toBe(3);
  database.close();
});
