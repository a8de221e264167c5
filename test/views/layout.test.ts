import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTooSmall, planOverview, planReplay, scrollTo } from '../../views/layout.ts';

const sizes = fc.record({
  columns: fc.integer({ min: 40, max: 300 }),
  rows: fc.integer({ min: 10, max: 100 }),
});

describe('planOverview', () => {
  it('gives 80x24 four charts of their own and a list', () => {
    expect(planOverview({ columns: 80, rows: 24 })).toEqual({
      header: 3,
      chartColumns: 2,
      chartHeight: 4,
      knobs: 1,
      listHead: 2,
      listRows: 8,
    });
  });

  it('shrinks charts to sparklines on the smallest screen', () => {
    expect(planOverview({ columns: 40, rows: 10 })).toMatchObject({ chartHeight: 1 });
  });

  it('fills every screen exactly and leaves room for the list', () => {
    fc.assert(
      fc.property(sizes, (size) => {
        const plan = planOverview(size);
        const charts = plan.chartHeight * (4 / plan.chartColumns);
        expect(plan.header + charts + plan.knobs + plan.listHead + plan.listRows + 2).toBe(size.rows);
        expect(plan.listRows).toBeGreaterThanOrEqual(1);
        expect(plan.chartHeight).toBeGreaterThanOrEqual(1);
      }),
    );
  });
});

describe('planReplay', () => {
  it('puts the steps beside the details from 100 columns on, above them otherwise', () => {
    expect(planReplay({ columns: 99, rows: 24 }).side).toBe('top');
    expect(planReplay({ columns: 100, rows: 24 }).side).toBe('left');
  });

  it('fills every screen exactly', () => {
    fc.assert(
      fc.property(sizes, (size) => {
        const plan = planReplay(size);
        const body = plan.side === 'left' ? plan.detailRows : plan.listRows + 1 + plan.detailRows;
        expect(plan.header + plan.curves + body + 2).toBe(size.rows);
        expect(plan.detailRows).toBeGreaterThanOrEqual(1);
      }),
    );
  });
});

describe('scrollTo', () => {
  it('moves the window no further than needed', () => {
    expect(scrollTo(5, 0, 10)).toBe(0);
    expect(scrollTo(12, 0, 10)).toBe(3);
    expect(scrollTo(2, 5, 10)).toBe(2);
  });
});

describe('isTooSmall', () => {
  it('takes 40x10 and refuses less', () => {
    expect(isTooSmall({ columns: 40, rows: 10 })).toBe(false);
    expect(isTooSmall({ columns: 39, rows: 10 })).toBe(true);
    expect(isTooSmall({ columns: 40, rows: 9 })).toBe(true);
  });
});
