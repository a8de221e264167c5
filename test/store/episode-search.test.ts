import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EpisodeSummary } from '../../src/domain/episode.ts';
import { LabError } from '../../src/domain/error.ts';
import { BEHAVIOUR_NAMES } from '../../src/domain/failure.ts';
import { openEpisodeSearch, QueuedSearch } from '../../src/store/episode-search.ts';
import { parseFilter } from '../../src/store/filter.ts';
import { openRunStore } from '../../src/store/index-writer.ts';
import type { RunPaths } from '../../src/store/run-directory.ts';
import type { Answer, Question } from '../../src/store/search-desk.ts';
import { SearchThread } from '../../src/store/thread-search.ts';
import { finished, mixedSummary, type TemporaryRuns, temporaryRuns } from './fixture.ts';

const EPISODES: readonly EpisodeSummary[] = Array.from({ length: 120 }, (_, index) => ({
  ...mixedSummary(index + 1),
  host: index % 3 === 0 ? 'gpu 1' : 'local',
}));
const NO_FILTERS = new Map<string, string>();
let runs: TemporaryRuns;
let paths: RunPaths;
beforeAll(() => {
  runs = temporaryRuns();
  paths = runs.run();
  const store = openRunStore(paths);
  store.appendEpisodes(EPISODES.map((summary) => finished(summary)));
  store.close();
});
afterAll(() => runs.remove());

function count(matches: (episode: EpisodeSummary) => boolean): number {
  return EPISODES.filter(matches).length;
}

describe('a search', () => {
  it('gives page, count and facets of one filter', async () => {
    const search = openEpisodeSearch(paths);
    const filter = parseFilter('steps>20');
    const found = await search.search(filter, { limit: 5 });
    const long = EPISODES.filter(({ steps }) => steps > 20);
    expect(found).toMatchObject({ count: long.length, next: expect.any(String), ms: expect.any(Number) });
    expect(found?.episodes).toEqual(long.slice(-5).toReversed());
    const facets = await search.facets(filter.where);
    expect(facets?.count).toBe(long.length);
    for (const { value, count: counted } of facets?.failures ?? []) {
      expect(counted).toBe(long.filter(({ failure }) => failure === value).length);
    }
    expect(facets?.hosts).toContainEqual({
      value: 'local',
      count: long.filter(({ host }) => host === 'local').length,
    });
    expect(facets?.withoutReward).toBe(long.filter(({ reward }) => reward === null).length);
    for (const [bands, numberOf] of [
      [facets?.iterations, ({ iteration }: EpisodeSummary) => iteration],
      [facets?.rewards, ({ reward }: EpisodeSummary) => reward ?? Number.NaN],
    ] as const) {
      expect(bands?.length).toBeGreaterThan(3);
      for (const { from, to, count: counted } of bands ?? []) {
        expect(counted).toBe(long.filter((one) => numberOf(one) >= from && numberOf(one) < to).length);
      }
    }
    await search.close();
  });

  it('counts an episode under each of its behaviours', async () => {
    const search = openEpisodeSearch(paths);
    const facets = await search.facets(parseFilter('*').where);
    const expected = BEHAVIOUR_NAMES.map((value) => ({
      value,
      count: count(({ behaviours }) => behaviours.includes(value)),
    })).filter((one) => one.count > 0);
    expect(expected.length).toBeGreaterThan(1);
    expect(facets?.behaviours).toHaveLength(expected.length);
    expect(facets?.behaviours).toEqual(expect.arrayContaining(expected));
    await search.close();
  });

  it('of nothing, and of one value, has facets too', async () => {
    const search = openEpisodeSearch(paths);
    const nothing = await search.facets(parseFilter('-*').where);
    expect(nothing).toMatchObject({ count: 0, failures: [], iterations: [], rewards: [], withoutReward: 0 });
    const one = await search.facets(parseFilter('id:e12').where);
    expect(one?.iterations).toEqual([{ from: 2, to: 3, count: 1 }]);
    await search.close();
  });

  it('is refused what the reader is refused', async () => {
    const search = openEpisodeSearch(paths);
    const bad = search.search(parseFilter(''), { limit: 1, after: 'x' });
    await expect(bad).rejects.toMatchObject({ code: 'usage' });
    await search.close();
    const none = openEpisodeSearch(runs.run('empty'));
    await expect(none.facets(parseFilter('').where)).rejects.toMatchObject({ code: 'store-failed' });
    await none.close();
  });
});

async function complete(
  text: string,
  cursor = text.length,
  saved = NO_FILTERS,
): Promise<[string, number | null][]> {
  const search = openEpisodeSearch(paths);
  const completion = await search.complete(text, cursor, saved);
  await search.close();
  return (completion?.suggestions ?? []).map((one) => [
    text.slice(0, completion?.from) + one.text + text.slice(completion?.to),
    one.count,
  ]);
}

/** The entry of a thread with this code. */
function entry(code: string): URL {
  return new URL(
    `data:text/javascript,import { parentPort } from 'node:worker_threads'; ${encodeURIComponent(code)}`,
  );
}

describe('completion', () => {
  it('offers values with what the whole filter would match', async () => {
    expect(await complete('is:eval fail:w')).toEqual(
      expect.arrayContaining([
        [
          'is:eval fail:wrong_result',
          count(({ phase, failure }) => phase === 'eval' && failure === 'wrong_result'),
        ],
        [
          'is:eval fail:wall_clock',
          count(({ phase, failure }) => phase === 'eval' && failure === 'wall_clock'),
        ],
      ]),
    );
    expect(await complete('is:ev')).toEqual([['is:eval', count(({ phase }) => phase === 'eval')]]);
  });

  it('knows the values of a run, quotes them, turns them round, and takes lists', async () => {
    expect(await complete('host:g')).toEqual([['host:"gpu 1"', 40]]);
    expect(await complete('is:eval host:"gp')).toEqual([
      ['is:eval host:"gpu 1"', count(({ host, phase }) => host === 'gpu 1' && phase === 'eval')],
    ]);
    expect(await complete('host:"gpx" is:eval', 8)).toEqual([['host:"gpu 1" is:eval', 8]]);
    expect(await complete('"no such')).toEqual([]);
    expect(await complete('-host:l')).toEqual([['-host:local', 40]]);
    expect(await complete('fail:none,gave')).toEqual([
      ['fail:none,gave_up', count(({ failure }) => failure === 'gave_up')],
    ]);
  });

  it('works in the middle of a text, and beside what is no filter yet', async () => {
    expect(await complete('trust:v steps>5', 7)).toContainEqual([
      'trust:void steps>5',
      count(({ trust, steps }) => trust === 'void' && steps > 5),
    ]);
    expect(await complete('(fail: is:ev')).toEqual([['(fail: is:eval', 24]]);
  });

  it('offers fields, components, orders and saved filters', async () => {
    const saved = new Map([['stuck', 'behaviour:loop']]);
    const names = (await complete('', 0, saved)).map(([text]) => text);
    expect(names).toEqual(expect.arrayContaining(['@stuck', 'fail:', 'is:']));
    expect(await complete('@', 1, saved)).toEqual([['@stuck', 30]]);
    expect(await complete('part.g')).toEqual([['part.goal', null]]);
    expect(await complete('sort:-rew')).toEqual([['sort:-reward', null]]);
    expect(await complete('nothing:x')).toEqual([]);
    expect(await complete('steps>')).toEqual([]);
  });
});

describe('of several questions at once', () => {
  it('the newest of each kind is answered, those overtaken are not asked', async () => {
    const asked: Question[] = [];
    const answer: ((value: Answer) => void)[] = [];
    const search = new QueuedSearch({
      ask: async (question) => {
        asked.push(question);
        return await new Promise((resolve) => {
          answer.push(resolve);
        });
      },
      close: async () => await Promise.resolve(),
    });
    const page = { limit: 1 };
    const answers = ['steps>1', 'steps>2', 'steps>3'].map(
      async (text) => await search.search(parseFilter(text), page),
    );
    const facets = search.facets(parseFilter('').where);
    const found = { episodes: [], next: null, count: 7, ms: 1 };
    await Promise.resolve();
    answer[0]?.({ kind: 'search', found });
    expect(await answers[0]).toEqual(found);
    expect(await answers[1]).toBeNull();
    expect(asked.map(({ kind }) => kind)).toEqual(['search', 'facets', 'search']);
    expect(asked.at(-1)).toEqual({ kind: 'search', filter: parseFilter('steps>3'), page });
    const late = search.search(parseFilter('steps>4'), page);
    await search.close();
    expect(await late).toBeNull();
    answer[2]?.({ kind: 'search', found });
    expect(await answers[2]).toEqual(found);
    void facets;
  });
});

describe('the thread', () => {
  const question: Question = { kind: 'facets', where: parseFilter('').where };

  it('that dies rejects what it was asked, and is started again', async () => {
    const thread = new SearchThread(
      paths,
      entry("parentPort.on('message', () => { throw new Error('no more'); });"),
    );
    for (const attempt of [1, 2]) {
      const lost = await thread.ask(question).catch((thrown: unknown) => thrown);
      expect(lost, `attempt ${attempt}`).toBeInstanceOf(LabError);
      expect(lost).toMatchObject({ code: 'store-failed', message: expect.stringContaining('no more') });
    }
    await thread.close();
  });

  it('sends errors back as what they are', async () => {
    const error = { code: 'usage', message: 'not so', hint: undefined };
    const thread = new SearchThread(
      paths,
      entry(
        `parentPort.on('message', (m) => m === null ? parentPort.close() : parentPort.postMessage(${JSON.stringify({ error })}));`,
      ),
    );
    await expect(thread.ask(question)).rejects.toMatchObject({ code: 'usage', message: 'not so' });
    await thread.close();
  });
});
