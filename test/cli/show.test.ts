import { expect, it } from 'vitest';
import { formatEpisode } from '../../src/cli/show.ts';
import { NO_STAGES } from '../../src/domain/episode.ts';
import { NO_TOOLS } from '../../src/domain/tool.ts';
import { episodeSummary } from '../support/summary.ts';

const BODY = { lines: [], candidateSets: [], steps: [], finalObservation: [] };

it('tags, tools and times stand in the head of an episode', () => {
  const summary = episodeSummary({
    tags: ['reading', 'odd\u001b[31m'],
    tools: {
      calls: 3,
      failed: 1,
      byName: { move: { calls: 1, failed: 0 }, search: { calls: 2, failed: 1, ms: 12.5 } },
    },
    stages: { resetMs: 0.05, stepMs: 1.5, inferenceMs: 20 },
  });
  const text = formatEpisode({ summary, body: BODY }).join('\n');
  expect(text).toContain('\ntools 3 calls, 1 failed: move 1, search 2 (1 failed) in 12.5 ms\n');
  expect(text).toContain('\ntime reset 0.05 ms · steps 1.5 ms · inference and waiting 20 ms\n');
  expect(text).toMatch(/\ntags reading, odd\S*\[31m\n/u);
  expect(text).not.toContain('\u001b');
});

it('what was not recorded is not shown', () => {
  const summary = episodeSummary({ tags: [], tools: NO_TOOLS, stages: NO_STAGES });
  expect(formatEpisode({ summary, body: BODY }).join('\n')).not.toMatch(/^(?:tags|tools|time) /mu);
});
