import { describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/domain/task.ts';
import { Curriculum } from '../../src/run/curriculum.ts';

const catalog: Catalog = {
  env: 'workbench',
  version: '1',
  maxSteps: 30,
  families: [
    { name: 'easy', train: 10, heldOut: 5 },
    { name: 'hard', train: 10, heldOut: 5 },
  ],
};

function shareOfHard(curriculum: Curriculum, draws = 4000): number {
  let hard = 0;
  for (let i = 0; i < draws; i++) hard += Number(curriculum.next().family === 'hard');
  return hard / draws;
}

function nextTasks(curriculum: Curriculum) {
  return Array.from({ length: 20 }, () => curriculum.next());
}

describe('the curriculum', () => {
  it('draws a family more often the more it fails, down to the floor', () => {
    const curriculum = new Curriculum(catalog, { adapt: true, floor: 0.25 }, 7);
    expect(shareOfHard(curriculum)).toBeCloseTo(0.5, 1);
    for (let i = 0; i < 2000; i++) curriculum.observe('easy', true);
    expect(shareOfHard(curriculum)).toBeCloseTo(1 / 1.25, 1);
  });

  it('draws every family equally when it shall not adapt', () => {
    const curriculum = new Curriculum(catalog, { adapt: false, floor: 0.25 }, 7);
    for (let i = 0; i < 2000; i++) curriculum.observe('easy', true);
    expect(shareOfHard(curriculum)).toBeCloseTo(0.5, 1);
  });

  it('goes on from its state with the same tasks', () => {
    const options = { adapt: true, floor: 0.25 };
    const first = new Curriculum(catalog, options, 3);
    for (let i = 0; i < 50; i++) {
      first.observe(first.next().family, i % 3 === 0);
    }
    const second = new Curriculum(catalog, options, first.getState());
    expect(nextTasks(second)).toEqual(nextTasks(first));
  });

  it('names only training tasks that exist', () => {
    const curriculum = new Curriculum(catalog, { adapt: true, floor: 0 }, 1);
    for (let i = 0; i < 500; i++) {
      const { split, index } = curriculum.next();
      expect(split).toBe('train');
      expect(index).toBeLessThan(10);
    }
  });
});
