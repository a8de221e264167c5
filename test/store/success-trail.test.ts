import { expect, it } from 'vitest';
import type { SuccessRow } from '../../src/store/iteration-rows.ts';
import { SuccessTrail } from '../../src/store/success-trail.ts';

/** A run whose rows are what counts, and what was read of them. */
class Rows {
  rows: SuccessRow[] = [];
  read: number[] = [];

  add(iteration: number, { attempt = 1, heldOut = null as number | null } = {}): void {
    this.rows = this.rows.filter((row) => row.iteration < iteration);
    this.rows.push({ iteration, attempt, heldOut, train: iteration / 100 });
  }

  success(after: number): SuccessRow[] {
    const found = this.rows.filter(({ iteration }) => iteration > after);
    this.read.push(found.length);
    return found;
  }

  lastIteration(): number {
    return this.rows.at(-1)?.iteration ?? 0;
  }
}

it('reads of a run that goes on only what is new', () => {
  const [run, trail] = [new Rows(), new SuccessTrail()];
  for (let iteration = 1; iteration <= 10; iteration += 1) run.add(iteration);
  trail.follow(run, 1);
  run.add(11);
  trail.follow(run, 1);
  trail.follow(run, 1);
  expect(run.read).toEqual([10, 1, 0]);
  // Every third, the newest among them.
  expect(trail.curve(4)).toEqual({ iteration: 11, success: [0.02, 0.05, 0.08, 0.11] });
});

it('takes what a resumed run does again for what it did before', () => {
  const [run, trail] = [new Rows(), new SuccessTrail()];
  for (let iteration = 1; iteration <= 4; iteration += 1) run.add(iteration);
  trail.follow(run, 1);
  // Resumed from the first iteration, and not yet through the next.
  trail.follow(run, 2);
  run.add(2, { attempt: 2 });
  trail.follow(run, 2);
  run.add(3, { attempt: 2 });
  trail.follow(run, 2);
  expect(run.read).toEqual([4, 4, 2, 1]);
  expect(trail.curve(8)).toEqual({ iteration: 3, success: [0.01, 0.02, 0.03] });
});

it('shows held-out success once there is any, and begins anew with another run in its place', () => {
  const [run, trail] = [new Rows(), new SuccessTrail()];
  run.add(1);
  run.add(2, { heldOut: 0.5 });
  run.add(3);
  trail.follow(run, 1);
  expect(trail.curve(8)).toEqual({ iteration: 3, success: [0.5] });
  run.rows = [];
  trail.follow(run, 1);
  expect(trail.curve(8)).toEqual({ iteration: 0, success: [] });
});
