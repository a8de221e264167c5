import { z } from 'zod';
import type { EpisodeSummary } from '../src/domain/episode.ts';
import { LabError } from '../src/domain/error.ts';
import { type EpisodeId, episodeIdSchema } from '../src/domain/id.ts';
import { writeNotes } from '../src/store/episode-marks.ts';
import { formatFilter } from '../src/store/filter.ts';
import { type FilterSort, NEWEST_FIRST } from '../src/store/filter-tree.ts';
import type { EPISODE_KEYS } from './episode-keys.ts';
import { savedFor } from './filter-actions.ts';
import { formatCount } from './format.ts';
import type { Handler } from './handler.ts';
import { Menu } from './menu.ts';
import type { Session } from './session.ts';
import { problemText } from './toast.ts';
import { COLUMN_NAMES, columnsFor } from './widgets/episode-table.ts';

/** What the keys of the episode list do. */
export const EPISODE_HANDLERS: Readonly<Record<keyof typeof EPISODE_KEYS, Handler>> = {
  sort: (session) => sortBy(session, nextSort(session.list.sort)),
  reverse: (session) => {
    const { field, descending } = session.list.sort;
    sortBy(session, { field, descending: !descending });
  },
  columns: chooseColumns,
  panel: (session) => {
    session.showsFacets = !session.showsFacets;
    session.reread();
  },
  pin: pinInFront,
  note: noteInFront,
  select: (session) => {
    const { selected } = session.list;
    if (selected === null || session.run === null) return;
    if (!session.selection.delete(selected.id)) session.selection.add(selected.id);
    session.list.move(session.run.search, 1);
  },
  bulk: chooseBulk,
};

/** What `s` goes through; each begins with what is looked for most. */
const SORTS: readonly FilterSort[] = [
  NEWEST_FIRST,
  { field: 'reward', descending: true },
  { field: 'steps', descending: true },
  { field: 'iter', descending: true },
  { field: 'ms', descending: true },
  { field: 'difficulty', descending: true },
  { field: 'tool.failed', descending: true },
];

function nextSort({ field }: FilterSort): FilterSort {
  const place = SORTS.findIndex((sort) => sort.field === field);
  return SORTS[(place + 1) % SORTS.length] ?? NEWEST_FIRST;
}

/** A term `sort:…` of its own, but not inside a quoted text. */
const SORT_TERM = /("(?:[^"\\]|\\.)*")|(?:^|(?<=\s))sort[:=]\S+\s*/giu;

/** The filter text with another order. */
function sortBy(session: Session, { field, descending }: FilterSort): void {
  const { list } = session;
  const rest = list.view.filterText
    .replaceAll(SORT_TERM, (_term, quoted: string | undefined) => quoted ?? '')
    .trim();
  const isNewest = field === NEWEST_FIRST.field && descending === NEWEST_FIRST.descending;
  const order = isNewest ? '' : `sort:${descending ? '-' : ''}${field}`;
  const text = `${rest} ${order}`.trim();
  try {
    list.filterBy(text, savedFor(session, text));
    session.reread();
    const way = descending ? 'the greatest first' : 'the least first';
    session.say(isNewest ? 'newest first' : `by ${field}, ${way}`);
  } catch (thrown) {
    session.say(problemText(thrown), 'bad');
  }
}

function chooseColumns(session: Session): void {
  const shown = (): readonly string[] => session.columns ?? columnsFor(session.size.columns, null);
  session.menu = new Menu({
    title: 'columns of the list; as many as fit are shown, in this order',
    stays: true,
    items: () => [
      {
        label: 'as many as fit',
        meaning: 'the choice that depends on the width',
        checked: session.columns === null,
      },
      ...COLUMN_NAMES.map((name) => ({ label: name, meaning: '', checked: shown().includes(name) })),
    ],
    onChoose: (index) => {
      const name = COLUMN_NAMES[index - 1];
      if (name === undefined) session.columns = null;
      else {
        const kept = shown().includes(name) ? shown().filter((one) => one !== name) : [...shown(), name];
        session.columns = kept.length === 0 ? null : COLUMN_NAMES.filter((one) => kept.includes(one));
      }
    },
  });
}

function inFront(session: Session): EpisodeSummary | null {
  return session.screen === 'replay' ? (session.replay?.episode.summary ?? null) : session.list.selected;
}

function pinInFront(session: Session): void {
  const episode = inFront(session);
  if (episode === null) return;
  const pinned = session.marks?.marks.pins.has(episode.id) !== true;
  pinAll(session, [episode.id], pinned);
}

function pinAll(session: Session, ids: readonly string[], pinned: boolean): void {
  const { client, runId, marks } = session;
  session.attempt(async () => {
    if (client !== null) for (const id of ids) await client.pin(id, pinned);
    else if (runId !== null) {
      await session.options.verb(['pin', runId, ...ids, ...(pinned ? [] : ['--off'])]);
    }
    marks?.refresh();
    const what = ids.length === 1 ? (ids[0] ?? '') : `${formatCount(ids.length)} episodes`;
    return pinned ? `${what} pinned: the steps are kept` : `${what} not pinned any more`;
  });
}

function noteInFront(session: Session): void {
  const episode = inFront(session);
  if (episode === null) return;
  askForNote(session, `note on ${episode.id}`, async () => await Promise.resolve([episode.id]));
}

function askForNote(session: Session, label: string, ids: () => Promise<readonly string[]>): void {
  const { marks } = session;
  const only = inFront(session)?.id ?? '';
  const before = label.endsWith(` ${only}`) ? (marks?.marks.notes.get(only)?.text ?? '') : '';
  session.ask({
    label,
    text: before,
    onAccept: (text) =>
      session.attempt(async () => {
        if (marks === null) return null;
        const about = (await ids()).map((id): EpisodeId => episodeIdSchema.parse(id));
        writeNotes(marks.paths, about, text);
        marks.refresh();
        const what = about.length === 1 ? (about[0] ?? '') : `${formatCount(about.length)} episodes`;
        return text.trim() === '' ? `no note on ${what} any more` : `noted on ${what}`;
      }),
  });
}

/** Episodes that are pinned or noted at once: each is a request to the run, or a row of a file. */
const MOST_AT_ONCE = 1000;
/** Episodes that are done again if nobody says. */
const SAMPLE = 20;

/** What a bulk action is about. */
interface Target {
  readonly count: number;
  /** `128 selected episodes`. */
  readonly words: string;
  /** A filter that finds them. */
  readonly filter: string;
  readonly ids: () => Promise<readonly string[]>;
}

function countWords(count: number, which: string): string {
  return `${formatCount(count)} ${which}${count === 1 ? 'episode' : 'episodes'}`;
}

function targetOf(session: Session): Target {
  const { selection, list } = session;
  const chosen = [...selection];
  if (chosen.length > 0) {
    return {
      count: chosen.length,
      words: countWords(chosen.length, 'selected '),
      filter: `id:${chosen.join(',')}`,
      ids: async () => await Promise.resolve(chosen),
    };
  }
  const { total } = list.view;
  const text = formatFilter({ where: list.where, sort: NEWEST_FIRST });
  return {
    count: total,
    words: `${countWords(total, '')}${text === '*' || text === '' ? '' : ` that match ${text}`}`,
    // A word that begins with "-" would be taken for an option of the command.
    filter: text.startsWith('-') ? `* ${text}` : text,
    ids: async () => await matchingIds(session),
  };
}

async function matchingIds(session: Session): Promise<readonly string[]> {
  const { run, list } = session;
  const filter = { where: list.where, sort: NEWEST_FIRST };
  for (;;) {
    const found = (await run?.search.search(filter, { limit: MOST_AT_ONCE })) ?? null;
    // What is done next is done to the run that is open: these are not its episodes.
    if (session.run !== run)
      throw new LabError('usage', { message: 'another run was opened: nothing is done' });
    // The list's own question took its place.
    if (found === null && run !== null) continue;
    return found?.episodes.map(({ id }) => id) ?? [];
  }
}

function chooseBulk(session: Session): void {
  const target = targetOf(session);
  const actions: readonly { readonly label: string; readonly meaning: string; readonly act: () => void }[] = [
    {
      label: 'pin',
      meaning: 'keep their steps whatever the byte budget',
      act: () => askToPin(session, target, true),
    },
    { label: 'let go', meaning: 'take the pins away', act: () => askToPin(session, target, false) },
    { label: 'note', meaning: 'write the same line about each', act: () => askForBulkNote(session, target) },
    {
      label: 'do again',
      meaning: 'a sample, with the recorded actions: how many come out the same',
      act: () => askForSample(session, target),
    },
    {
      label: 'export',
      meaning: 'to a Parquet, JSONL, CSV or ATIF file',
      act: () => askForFile(session, target),
    },
    { label: 'select none', meaning: 'forget the selection', act: () => session.selection.clear() },
  ];
  session.menu = new Menu({
    title: target.words,
    items: () => actions,
    onChoose: (index) => actions[index]?.act(),
  });
}

function isTooMany(session: Session, { count }: Target): boolean {
  if (count <= MOST_AT_ONCE) return false;
  session.say(
    `${formatCount(count)} are too many at once: narrow the filter to ${formatCount(MOST_AT_ONCE)}`,
    'bad',
  );
  return true;
}

function askToPin(session: Session, target: Target, pinned: boolean): void {
  if (isTooMany(session, target)) return;
  session.question = {
    title: pinned ? `Pin ${target.words}?` : `Take the pins from ${target.words}?`,
    body: [
      pinned
        ? 'Their steps are then kept whatever the byte budget of the run.'
        : 'The byte budget may drop their steps then.',
    ],
    verb: pinned ? 'Pin' : 'Let go',
    focus: 'cancel',
    onYes: () =>
      session.attempt(async () => {
        pinAll(session, await target.ids(), pinned);
        return await Promise.resolve(null);
      }),
  };
}

function askForBulkNote(session: Session, target: Target): void {
  if (!isTooMany(session, target)) askForNote(session, `note on ${target.words} (empty: remove)`, target.ids);
}

function askForSample(session: Session, target: Target): void {
  session.ask({
    label: `do again how many of ${target.words}`,
    text: String(Math.min(SAMPLE, target.count)),
    onAccept: (text) => {
      const sample = Number(text);
      if (!Number.isInteger(sample) || sample < 1) {
        throw new LabError('usage', { message: `"${text}" is no number of episodes, 1 or more` });
      }
      session.say(`doing ${formatCount(sample)} episodes again`);
      session.attempt(async () => {
        const { runId } = session;
        if (runId === null) return null;
        const words = ['replay', target.filter, '--run', runId, '--sample', String(sample)];
        return scoreText(await session.options.verb(words));
      });
    },
  });
}

const replayScoreSchema = z.looseObject({
  score: z.array(
    z.looseObject({
      of: z.string(),
      episodes: z.number(),
      score: z.number(),
      verdicts: z.record(z.string(), z.number()),
    }),
  ),
});

/** `18 of 20 came out the same (90.0%): 18 identical, 2 drift`. */
function scoreText([answer]: readonly unknown[]): string {
  const { score } = replayScoreSchema.parse(answer);
  const all = score.find(({ of }) => of === 'all');
  if (all === undefined) return 'nothing was done again';
  const same = Math.round(all.score * all.episodes);
  const verdicts = Object.entries(all.verdicts)
    .filter(([, count]) => count > 0)
    .map(([verdict, count]) => `${formatCount(count)} ${verdict}`);
  return `${formatCount(same)} of ${formatCount(all.episodes)} came out the same (${(100 * all.score).toFixed(1)}%): ${verdicts.join(', ')}`;
}

function askForFile(session: Session, target: Target): void {
  session.ask({
    label: `export ${target.words} to the file`,
    text: `${session.runId ?? 'episodes'}.parquet`,
    onAccept: (text) => {
      const file = text.trim();
      if (file === '') throw new LabError('usage', { message: 'a file name is wanted, as failures.jsonl' });
      session.say(`writing ${file}`);
      session.attempt(async () => {
        const { runId } = session;
        if (runId === null) return null;
        await session.options.verb(['export', 'episodes', runId, target.filter, '--to', file]);
        return `${target.words} written to ${file}`;
      });
    },
  });
}
