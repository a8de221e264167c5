import { actionLayout, type FeaturesPolicySpec, type PolicySpec } from '../../src/domain/policy-spec.ts';
import { ACTION_TYPES, type ArgumentType, type Candidate, type Observation } from '../../src/domain/space.ts';
import type { Sight } from '../policy/encode.ts';

/**
 * Three things that the policy could look at, made to touch every rule of its encoding: names and texts of several words, in
 * the task and in later lines, twice and never, capitals, signs and letters outside ASCII, more lines than fit, none at all.
 */
export function exampleSights(spec: PolicySpec): readonly Sight[] {
  return spec.kind === 'text'
    ? TEXTS.map((observation) => ({ observation: fitting(spec, observation), history: [] }))
    : [1, 2, spec.window + 1].map((seen) => numericSight(spec, seen));
}

const TEXTS: readonly Observation[] = [
  {
    lines: [
      'Task: copy "Report-7.txt" from /home/ana into the folder Archive 2026, then submit.',
      'folder /home/ana: Report-7.txt, notes.md',
      'no tool is open',
      'read Report-7.txt: total 41, owner Ana',
    ],
    legal: ['read', 'select_tool', 'submit', 'noop'],
    candidates: [
      { type: 'read', text: 'Report-7.txt', kind: 'file' },
      { type: 'read', text: 'notes.md', kind: 'file' },
      { type: 'select_tool', text: 'copy', kind: 'tool' },
      { type: 'select_tool', text: 'delete', kind: 'tool' },
    ],
  },
  {
    lines: [
      "Задача: straße_9 before it’s too late; ask o'neil@example or archive 2026 first",
      'one',
      'two two',
      'three: archive 2026, then Archive 2026 again',
      'four straße_9',
      'five-',
      '',
      'seven 7.5% of ana',
      "eight o'neil@example",
      'the newest line has many words a b c d e f g h i j k l m n o p',
    ],
    legal: ['input', 'confirm', 'noop'],
    candidates: [
      { type: 'input', text: 'STRASSE_9', kind: 'value' },
      { type: 'input', text: 'straße_9', kind: 'value' },
      { type: 'input', text: 'Archive 2026', kind: 'folder name' },
      { type: 'input', text: "o'neil@example", kind: 'value' },
      { type: 'input', text: '7.5%', kind: 'value' },
      { type: 'read', text: 'ana', kind: 'file' },
    ],
  },
  { lines: [], legal: ['confirm'], candidates: [] },
];

/** The observation with as many candidates as the policy has room for. */
function fitting(spec: PolicySpec, observation: Observation): Observation {
  return { ...observation, candidates: room(spec, observation.candidates) };
}

function room(spec: PolicySpec, candidates: readonly Candidate[]): readonly Candidate[] {
  const { blocks } = actionLayout(spec);
  const used: Record<ArgumentType, number> = { read: 0, select_tool: 0, input: 0 };
  return candidates.filter(({ type }) => used[type]++ < blocks[type].length);
}

/** After so many observations of an episode. */
function numericSight(spec: FeaturesPolicySpec, seen: number): Sight {
  const { blocks } = actionLayout(spec);
  const candidates = room(
    spec,
    (['read', 'select_tool', 'input'] as const).flatMap((type) =>
      Array.from({ length: blocks[type].length }, (_, place) => ({
        type,
        text: String(place),
        kind: 'choice',
      })),
    ),
  );
  const history = Array.from({ length: seen }, (_, time) =>
    Array.from({ length: spec.features }, (__, feature) => Math.fround(Math.sin(1 + time + 0.7 * feature))),
  );
  const features = history.at(-1) ?? [];
  const legal = seen === 2 ? (['input', 'confirm', 'noop'] as const) : ACTION_TYPES;
  return { observation: { lines: [], legal, candidates, features }, history };
}
