import type { FacetView } from '../facet-desk.ts';
import { formatCount, formatNumber } from '../format.ts';
import { fit, fitLine, type Line, seg, untrusted } from '../line.ts';
import { type Look, symbolsOf } from '../look.ts';

type Facets = NonNullable<FacetView['facets']>;

interface Row {
  readonly label: string;
  readonly count: number;
}

/** A way of dividing the episodes, and its rows where there is room for so many. */
interface Section {
  readonly title: string;
  /** Rows for all of it. */
  readonly wanted: number;
  readonly rows: (room: number) => readonly Row[];
}

const COUNT_WIDTH = 9;
const BAR_WIDTH = 8;

/** `rows` rows: the list's episodes by outcome, family, behaviour, host, iteration and reward, each value with its count and a bar. */
export function drawFacetPanel(view: FacetView, width: number, rows: number, look: Look): Line[] {
  const lines = view.facets === null ? [note(view)] : facetLines(view.facets, view.isOld, width, rows, look);
  return Array.from({ length: rows }, (_, row) => fitLine(lines[row] ?? [], width, look));
}

function note({ problem }: FacetView): Line {
  return problem === null ? [seg('counting', 'dim')] : [seg(untrusted(problem), 'bad')];
}

function facetLines(facets: Facets, isOld: boolean, width: number, rows: number, look: Look): Line[] {
  const sections = sectionsOf(facets);
  const shares = shareOut(
    sections.map(({ wanted }) => wanted),
    rows - sections.length,
  );
  return sections.flatMap(({ title, rows: rowsOf }, index): Line[] => {
    const shown = rowsOf(shares[index] ?? 0);
    const most = Math.max(1, ...shown.map(({ count }) => count));
    return [
      [seg(title, 'bold'), seg(isOld ? '  searching' : '', 'dim')],
      ...shown.map((row) => facetLine(row, most, isOld, width, look)),
    ];
  });
}

function facetLine({ label, count }: Row, most: number, isOld: boolean, width: number, look: Look): Line {
  // What is there at all has a bar.
  const length = count === 0 ? 0 : Math.max(1, Math.round((count / most) * BAR_WIDTH));
  return [
    seg(fit(`  ${label}`, width - COUNT_WIDTH - BAR_WIDTH - 1, look), isOld ? 'dim' : 'plain'),
    seg(fit(formatCount(count), COUNT_WIDTH, look, 'right'), 'dim'),
    seg(` ${symbolsOf(look).rule.repeat(length)}`, isOld ? 'dim' : 'accent'),
  ];
}

function sectionsOf(facets: Facets): Section[] {
  const { failures, families, hosts, behaviours, iterations, rewards, withoutReward } = facets;
  const without: Row[] = withoutReward === 0 ? [] : [{ label: 'none', count: withoutReward }];
  return [
    valueSection('outcome', failures, 'success'),
    valueSection('family', families, 'none'),
    valueSection('behaviour', behaviours, 'none'),
    // One host says nothing.
    ...(hosts.length > 1 ? [valueSection('host', hosts, 'none')] : []),
    bandSection('iteration', iterations, 1, []),
    bandSection('reward', rewards, 0, without),
  ].filter(({ wanted }) => wanted > 0);
}

/** The most frequent values; what there is no room for as one row. */
function valueSection(title: string, values: Facets['failures'], absent: string): Section {
  const all = values.map(({ value, count }): Row => ({ label: untrusted(value ?? absent), count }));
  return {
    title,
    wanted: all.length,
    rows: (room) => {
      if (all.length <= room) return all;
      const rest = all.slice(Math.max(0, room - 1));
      const count = rest.reduce((sum, row) => sum + row.count, 0);
      return [...all.slice(0, Math.max(0, room - 1)), { label: `${rest.length} others`, count }].slice(
        0,
        room,
      );
    },
  };
}

/** Bands of numbers; neighbours are joined where there is no room for all. `step` is 1 for whole numbers, else 0. */
function bandSection(
  title: string,
  bands: Facets['iterations'],
  step: 0 | 1,
  others: readonly Row[],
): Section {
  return {
    title,
    wanted: bands.length + others.length,
    rows: (room) => {
      const size = Math.ceil(bands.length / Math.max(1, room - others.length));
      const joined: Row[] = [];
      for (let index = 0; index < bands.length; index += size) {
        const part = bands.slice(index, index + size);
        const from = part[0]?.from ?? 0;
        const to = (part.at(-1)?.to ?? 0) - step;
        const count = part.reduce((sum, band) => sum + band.count, 0);
        // Bands narrower than what is written of a number are one number.
        const [low, high] = [bound(from), bound(to)];
        joined.push({ label: low === high ? low : `${low}..${high}`, count });
      }
      return [...joined, ...others].slice(0, room);
    },
  };
}

function bound(value: number): string {
  return Number.isInteger(value) ? formatCount(value) : formatNumber(value);
}

/** Shares `room` rows out: one to each in turn, until each has what it wants or nothing is left. */
function shareOut(wanted: readonly number[], room: number): number[] {
  const shares = wanted.map(() => 0);
  let left = Math.max(0, room);
  while (left > 0 && shares.some((share, index) => share < (wanted[index] ?? 0))) {
    for (const [index, want] of wanted.entries()) {
      const share = shares[index] ?? 0;
      if (left === 0 || share >= want) continue;
      shares[index] = share + 1;
      left -= 1;
    }
  }
  return shares;
}
