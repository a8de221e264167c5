import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EpisodeBody, EpisodeSummary } from '../../src/domain/episode.ts';
import { formatAction } from '../../src/domain/space.ts';
import { parseFilter } from '../../src/store/filter.ts';
import { checkRun } from '../../src/store/fsck.ts';
import { openRunStore, type RunStore } from '../../src/store/index-writer.ts';
import { openRunReader } from '../../src/store/queries.ts';
import type { RunPaths } from '../../src/store/run-directory.ts';
import { openTextIndex, type TextIndex } from '../../src/store/text-index.ts';
import { TAIL_EPISODES } from '../../src/store/text-tail.ts';
import { TextIndexWriter } from '../../src/store/text-writer.ts';
import { finished, summaryOf, type TemporaryRuns, temporaryRuns } from './fixture.ts';

let runs: TemporaryRuns;
let paths: RunPaths;
beforeEach(() => {
  runs = temporaryRuns();
  paths = runs.run();
});
afterEach(() => runs.remove());

/** What a test stores: a sequence, and the lines that were seen. The last word of the first is also an action's argument. */
interface Told {
  readonly sequence: number;
  readonly lines: readonly string[];
  readonly changes?: Partial<EpisodeSummary>;
}

function bodyOf({ lines }: Told): EpisodeBody {
  const action = { type: 'input' as const, argument: lines[0]?.split(' ').at(-1) ?? '' };
  const step = {
    observation: [0],
    candidates: 0,
    action,
    probability: 1,
    value: 0,
    entropy: 0,
    policyVersion: 0,
    effective: true,
    reward: 0,
    parts: [],
  };
  return { lines: [...lines], candidateSets: [[]], steps: [step], finalObservation: [] };
}

function append(store: RunStore, told: readonly Told[]): void {
  store.appendEpisodes(told.map((one) => finished(summaryOf(one.sequence, one.changes), bodyOf(one))));
}

function storeAll(told: readonly Told[], segmentBytes = 4000): void {
  const opened = openRunStore(paths, { segmentBytes });
  for (let i = 0; i < told.length; i += 50) append(opened, told.slice(i, i + 50));
  opened.close();
}

/** Indexes what there is; `commit` false: all of it is lost, as with the process. */
function index(commit = true): number {
  const writer = new TextIndexWriter(paths);
  const { documents } = writer.add(Number.POSITIVE_INFINITY);
  if (commit) writer.commit();
  writer.close();
  return documents;
}

function use<Value>(ask: (text: TextIndex) => Value): Value {
  const text = openTextIndex(paths.text);
  if (text === null) throw new Error('there is no text index');
  try {
    return ask(text);
  } finally {
    text.close();
  }
}

/** A line as words between spaces. */
function plain(line: string): string {
  return ` ${line.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, ' ')} `.replaceAll('  ', ' ');
}

/** All that is said in an episode, made plain once. */
const plainLines = new Map<Told, string>();

function said(one: Told): string {
  const known = plainLines.get(one);
  if (known !== undefined) return known;
  const actions = bodyOf(one).steps.map(({ action }) => formatAction(action));
  const text = [...one.lines, ...actions, 'read_then_enter'].map(plain).join('\n');
  plainLines.set(one, text);
  return text;
}

/** The same answer by looking at everything, as strings. */
function scan(told: readonly Told[], quoted: string): number[] {
  const wanted = plain(quoted).trimStart();
  const end = /[\p{L}\p{N}]$/u.test(quoted) ? wanted.trimEnd() : wanted;
  if (end.trim() === '') return [];
  return told
    .filter((one) => said(one).includes(` ${end}`))
    .map(({ sequence }) => sequence)
    .toSorted((a, b) => a - b);
}

function expected(told: readonly Told[], quoted: string): { quoted: string; found: number[] } {
  return { quoted, found: scan(told, quoted) };
}

const word = fc.constantFrom('no', 'such', 'file', 'files', 'Fi', 'notes', 'a', 'É', '7');
const line = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(' '));
const question = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join(' '));
const lines = fc.array(line, { minLength: 1, maxLength: 4 });

it('finds what a scan of everything finds, whatever is indexed, committed, lost and still to come', () => {
  let matched = 0;
  fc.assert(
    fc.property(
      fc.array(lines, { minLength: 12, maxLength: 40 }),
      fc.array(fc.tuple(question, fc.constantFrom('', ' ')), { minLength: 1, maxLength: 8 }),
      fc.array(fc.constantFrom('index', 'lose', 'nothing'), { minLength: 4, maxLength: 4 }),
      (all, questions, deeds) => {
        rmSync(paths.root, { recursive: true });
        paths = runs.run();
        // Episodes are stored in the order in which they end, not in that of their numbers.
        const told = all.map((seen, at) => ({ sequence: 1 + (at ^ 3), lines: seen }));
        for (const [part, deed] of deeds.entries()) {
          const from = Math.floor((part * told.length) / deeds.length);
          storeAll(told.slice(from, Math.floor(((part + 1) * told.length) / deeds.length)), 700);
          if (deed !== 'nothing') index(deed === 'index');
        }
        index(false);
        use((text) => {
          for (const [quoted, end] of questions) {
            const found = [...text.match(quoted + end)];
            expect(found, `"${quoted}${end}"`).toEqual(scan(told, quoted + end));
            expect([...text.match(quoted + end)]).toEqual(found);
            matched += found.length;
          }
        });
      },
    ),
    { numRuns: 30 },
  );
  expect(matched).toBeGreaterThan(200);
});

describe('of several blocks of 4096', () => {
  const COUNT = 8800;
  const told = Array.from({ length: COUNT }, (_, n): Told => {
    const seen = [`task open file name${n % 40} now`, 'screen no tool'];
    if (n % 3 === 0) seen.push('read it no such file here');
    if (n % 40 === 7) seen.push('tool file no such tool');
    // Words that are rare in every block, after common ones; one begins with a letter of two units.
    if (n % 5 === 0) seen.push(`read rare${n % 395} says yes`, `then open file rust${n % 400}`);
    if (n % 700 === 0) seen.push(`read \u{10428}${n} too`);
    // Common in the second block, rare elsewhere.
    if (n >= 4096 && n < 8192 ? n % 10 === 0 : n % 500 === 0) seen.push('sometimes this happens');
    return { sequence: n + 1, lines: seen };
  });
  const QUESTIONS = [
    'screen ',
    'no ',
    'no such file ',
    'such file no ',
    'no such',
    'read it no such file ',
    'file no such ',
    'file no such tool ',
    'tool file no such tool ',
    'screen no tool file no ',
    'task open file name7 now ',
    'no tool file ',
    'name7 ',
    'open file name3',
    'sometimes this ',
    'this happens',
    'file name1',
    'tool file ',
    'fi',
    'absent ',
    'r',
    'ra',
    's',
    'read r',
    'read ra',
    'read rar',
    'read rare7',
    'no such f',
    'no such fx',
    'no such r',
    'file no such rare7 ',
    'then open file r',
    'then open file na',
    'open file name7 n',
    'task open file name7 no',
    'task open file name7 r',
    'tool then open file r',
    'read \u{10428}',
  ];

  it('common and rare phrases are found alike, by a writer that is killed now and then too', () => {
    storeAll(told.slice(0, 3000), 2 ** 20);
    index();
    storeAll(told.slice(3000, 6000), 2 ** 20);
    index(false);
    const before = use((text) => text.indexedEpisodes);
    expect(before).toBe(3000);
    index();
    storeAll(told.slice(6000, COUNT - 100), 2 ** 20);
    index();
    use((text) => {
      for (const quoted of QUESTIONS) {
        expect({ quoted, found: [...text.match(quoted)] }).toEqual(
          expected(told.slice(0, COUNT - 100), quoted),
        );
      }
      // What is added while it is open is found by questions that were asked before.
      storeAll(told.slice(COUNT - 100), 2 ** 20);
      for (const quoted of QUESTIONS)
        expect({ quoted, found: [...text.match(quoted)] }).toEqual(expected(told, quoted));
      index();
      expect(text.indexedEpisodes).toBe(COUNT);
      for (const quoted of QUESTIONS)
        expect({ quoted, found: [...text.match(quoted)] }).toEqual(expected(told, quoted));
    });
    const database = new Database(paths.text, { readonly: true });
    const common = database
      .prepare<[string], number>('SELECT block FROM common WHERE gram = ? ORDER BY block')
      .pluck();
    expect(common.all('no such file')).toEqual([0, 1]);
    expect(common.all('sometimes this happens')).toEqual([1]);
    expect(common.all('name7')).toEqual([0, 1]);
    expect(common.all('file name7 now')).toEqual([0, 1]);
    // Common words that are seldom together.
    expect(common.all('tool file')).toEqual([0, 1]);
    expect(common.all('file no such tool')).toEqual([0, 1]);
    expect(common.all('tool screen')).toEqual([]);
    database.close();
  });
});

function listed(filter: string): string[] {
  const reader = openRunReader(paths);
  try {
    const { episodes } = reader.episodes(parseFilter(filter), { limit: 10 });
    expect(reader.countEpisodes(parseFilter(filter))).toBe(episodes.length);
    return episodes.map(({ id }) => id).toReversed();
  } finally {
    reader.close();
  }
}

/** How many episodes have the line that all of them have. */
function countHere(): number {
  return use((text) => text.match('here ').length);
}

describe('a filter', () => {
  const told: Told[] = [
    { sequence: 1, lines: ['read notes no such file'] },
    { sequence: 2, lines: ['all is well'], changes: { tags: ['reading'] } },
    {
      sequence: 3,
      lines: ['all is well'],
      changes: {
        success: false,
        failure: 'env_crash',
        failureDetail: 'Segfault in Module seven',
        trust: 'void',
        reward: null,
      },
    },
  ];

  it.each<[string, readonly string[]]>([
    ['"no such file"', ['e1']],
    ['"NO SUCH"', ['e1']],
    ['-"no such file"', ['e2', 'e3']],
    ['well is:failed', ['e3']],
    ['"such file" or "module sev"', ['e1', 'e3']],
    ['crash', ['e3']],
    ['reading', ['e2']],
    ['"enter"', ['e1', 'e2', 'e3']],
    ['"file read"', []],
    ['"->"', []],
  ])('%s', (filter, ids) => {
    storeAll(told);
    index();
    expect(listed(filter)).toEqual(ids);
  });

  it('without a text index still looks at failures and families', () => {
    storeAll(told);
    expect(listed('segfault')).toEqual(['e3']);
    expect(listed('well')).toEqual([]);
  });
});

describe('an index that is', () => {
  const told = Array.from(
    { length: 300 },
    (_, n): Told => ({ sequence: n + 1, lines: [`line number${n} here`] }),
  );

  it.each<[string, () => void]>([
    ['missing', () => rmSync(paths.text)],
    ['no database', () => writeFileSync(paths.text, 'nonsense '.repeat(2000))],
    ['cut short', () => truncateSync(paths.text, 9000)],
    ['overwritten', () => writeFileSync(paths.text, readFileSync(paths.text).fill(0xa5, 8192, 40_960))],
    [
      'of another version',
      () => {
        const database = new Database(paths.text);
        database.pragma('user_version = 99');
        database.close();
      },
    ],
    [
      'ahead of segments that were cut back',
      () => {
        rmSync(paths.segments, { recursive: true });
        rmSync(paths.database);
        paths = runs.run();
        storeAll(told, 3000);
      },
    ],
  ])('%s is made anew by the next writer', (_, harm) => {
    storeAll(told);
    index();
    harm();
    expect(index()).toBe(300);
    expect(countHere()).toBe(300);
    expect(use((text) => [...text.match('number77')])).toEqual([78]);
  });

  it('made anew under an open reader is taken over', () => {
    storeAll(told.slice(0, 200));
    index();
    use((text) => {
      expect(text.match('here ')).toHaveLength(200);
      rmSync(paths.text);
      storeAll(told.slice(200));
      index();
      expect(text.indexedEpisodes).toBe(300);
      expect(text.match('here ')).toHaveLength(300);
    });
  });

  it('missing, damaged or behind is reported by fsck, and put right on demand', () => {
    storeAll(told.slice(0, 200));
    index();
    storeAll(told.slice(200));
    expect(checkRun(paths, { repair: false }).text).toEqual({
      problem: null,
      episodes: 200,
      repaired: false,
    });
    expect(checkRun(paths, { repair: true }).text).toEqual({ problem: null, episodes: 300, repaired: true });
    expect(checkRun(paths, { repair: true }).text).toEqual({ problem: null, episodes: 300, repaired: false });
    writeFileSync(paths.text, readFileSync(paths.text).fill(0xa5, 8192, 40_960));
    const found = checkRun(paths, { repair: false }).text;
    expect(found).toMatchObject({ problem: expect.stringMatching(/^it (is damaged|cannot be opened)/u) });
    expect(checkRun(paths, { repair: true }).text).toMatchObject({ episodes: 300, repaired: true });
    expect(countHere()).toBe(300);
    rmSync(paths.text);
    expect(checkRun(paths, { repair: false }).text?.problem).toBe('it is missing');
    expect(existsSync(paths.text)).toBe(false);
    expect(checkRun(paths, { repair: true, text: false }).text).toBeNull();
    expect(existsSync(paths.text)).toBe(false);
    expect(checkRun(paths, { repair: true }).text).toMatchObject({ problem: 'it is missing', episodes: 300 });
  });

  it('missing or unusable cannot be opened to search', () => {
    expect(openTextIndex(paths.text)).toBeNull();
    writeFileSync(paths.text, 'nonsense '.repeat(2000));
    expect(openTextIndex(paths.text)).toBeNull();
  });

  it('behind by more than the tail finds the newest', () => {
    storeAll(told.slice(0, 1));
    index();
    const more = Array.from(
      { length: TAIL_EPISODES + 50 },
      (_, n): Told => ({ sequence: 2 + n, lines: ['late'] }),
    );
    storeAll(more, 2 ** 20);
    const found = use((text) => text.match('late '));
    expect(found).toHaveLength(TAIL_EPISODES);
    expect(found.at(-1)).toBe(TAIL_EPISODES + 51);
  });
});

it('a damaged record is passed over, with all that follows it found', () => {
  for (let n = 0; n < 30; n++) storeAll([{ sequence: n + 1, lines: [`line ${n} here`] }], 2 ** 20);
  const file = `${paths.segments}/000001.seg`;
  const bytes = readFileSync(file);
  const at = Math.floor(bytes.byteLength / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
  expect(index()).toBe(29);
  expect(use((text) => text.match('here '))).toHaveLength(29);
});
