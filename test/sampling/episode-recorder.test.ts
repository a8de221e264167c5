import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type EpisodeBody, episodeBodySchema, resolveLines } from '../../src/domain/episode.ts';
import { ACTION_TYPES, ARGUMENT_TYPES, type Observation } from '../../src/domain/space.ts';
import type { Payment } from '../../src/rewards/aggregator.ts';
import { type Decision, EpisodeRecorder, type Outcome } from '../../src/sampling/episode-recorder.ts';

interface Step {
  readonly observation: Observation;
  readonly decision: Decision;
  readonly outcome: Outcome;
  readonly payment: Payment;
}

const text = fc.string({ unit: fc.constantFrom('a', 'é', '"', '\\', '\n', '漢', '😀', '\ud800') });
const number = fc.double({ min: -1e6, max: 1e6, noNaN: true });
const candidates = fc.array(fc.record({ type: fc.constantFrom(...ARGUMENT_TYPES), text, kind: text }), {
  maxLength: 3,
});
const step = fc.record<Step>({
  observation: fc.record({
    lines: fc.array(text, { maxLength: 5 }),
    legal: fc.constant([...ACTION_TYPES]),
    candidates,
  }),
  decision: fc.record({
    action: fc.record({
      type: fc.constantFrom(...ACTION_TYPES),
      argument: fc.option(text, { nil: null }),
    }),
    probability: number,
    value: number,
    entropy: number,
    policyVersion: fc.nat(),
    likeliest: fc.option(
      fc
        .array(fc.tuple(fc.integer({ min: -6, max: 30 }), fc.double({ min: 0, max: 1, noNaN: true })), {
          minLength: 1,
          maxLength: 3,
        })
        .map((pairs) => pairs.flat()),
      { nil: undefined },
    ),
  }),
  outcome: fc.record(
    {
      effective: fc.boolean(),
      tool: fc.record(
        {
          name: text,
          ok: fc.boolean(),
          ms: fc.double({ min: 0, max: 1e6, noNaN: true }),
          attempts: fc.integer({ min: 1, max: 9 }),
        },
        { requiredKeys: ['name', 'ok'] },
      ),
      ms: fc.nat(),
      state: fc.constantFrom('0123456789abcdef', 'fedcba9876543210'),
    },
    { requiredKeys: ['effective'] },
  ),
  payment: fc.record({
    reward: number,
    parts: fc.array(fc.record({ name: text, raw: number, weighted: number, paid: number }), { maxLength: 2 }),
  }),
});

function record(recorder: EpisodeRecorder, steps: readonly Step[], final: Observation | null): EpisodeBody {
  recorder.clear();
  for (const { observation, decision, outcome, payment } of steps)
    recorder.push(observation, decision, outcome, payment);
  return episodeBodySchema.parse(JSON.parse(Buffer.from(recorder.encode(final)).toString('utf8')));
}

/** Six decimals; JSON has no negative zero. */
const rounded = (value: number): number => Math.round(value * 1e6) / 1e6 + 0;

function inPairs(flat: readonly number[]): [number, number][] {
  return flat.flatMap((which, i): [number, number][] =>
    i % 2 === 0 ? [[which, rounded(flat[i + 1] ?? 0)]] : [],
  );
}

function roundedTool(tool: NonNullable<Outcome['tool']>): NonNullable<Outcome['tool']> {
  return tool.ms === undefined ? tool : { ...tool, ms: rounded(tool.ms) };
}

test('a body holds every step as it was, its lines once each, whatever was recorded before', () => {
  const recorder = new EpisodeRecorder();
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fc.option(step, { nil: null }), (steps, last) => {
      const final = last?.observation ?? null;
      const body = record(recorder, steps, final);
      expect(recorder.length).toBe(steps.length);
      expect(new Set(body.lines).size).toBe(body.lines.length);
      expect(resolveLines(body, body.finalObservation)).toEqual(final?.lines ?? []);
      const seen = body.steps.map((each) => ({
        ...each,
        observation: resolveLines(body, each.observation),
        candidates: body.candidateSets[each.candidates],
      }));
      expect(seen).toEqual(
        steps.map(({ observation, decision, outcome, payment }) => ({
          observation: observation.lines,
          candidates: observation.candidates,
          action: decision.action,
          probability: rounded(decision.probability),
          value: rounded(decision.value),
          entropy: rounded(decision.entropy),
          policyVersion: decision.policyVersion,
          effective: outcome.effective,
          reward: rounded(payment.reward),
          parts: payment.parts.map((part) => JSON.parse(JSON.stringify(part))),
          ...(decision.likeliest === undefined ? {} : { likeliest: inPairs(decision.likeliest) }),
          ...(outcome.tool === undefined ? {} : { tool: roundedTool(outcome.tool) }),
          ...(outcome.ms === undefined ? {} : { ms: outcome.ms }),
          ...(outcome.state === undefined ? {} : { state: outcome.state }),
        })),
      );
    }),
    { numRuns: 60 },
  );
});

test('lines that an environment changes in an array of its own are seen', () => {
  const recorder = new EpisodeRecorder();
  const lines = ['task', 'one'];
  const decision = {
    action: { type: 'noop', argument: null },
    probability: 1,
    value: 0,
    entropy: 0,
    policyVersion: 1,
  } as const;
  const payment = { reward: 0, parts: [] };
  recorder.push({ lines, legal: ['noop'], candidates: [] }, decision, { effective: true }, payment);
  lines[1] = 'two';
  recorder.push({ lines, legal: ['noop'], candidates: [] }, decision, { effective: true }, payment);
  const body = episodeBodySchema.parse(JSON.parse(Buffer.from(recorder.encode(null)).toString('utf8')));
  expect(body.steps.map((each) => resolveLines(body, each.observation))).toEqual([
    ['task', 'one'],
    ['task', 'two'],
  ]);
});

test('steps of any length fit', () => {
  const long = 'x'.repeat(200_000);
  const [observation, action] = [{ lines: [long], legal: ['read' as const], candidates: [] }, long];
  const steps = Array.from(
    { length: 3 },
    (): Step => ({
      observation,
      decision: {
        action: { type: 'read', argument: action },
        probability: 1,
        value: 0,
        entropy: 0,
        policyVersion: 1,
      },
      outcome: { effective: true },
      payment: { reward: 0, parts: [] },
    }),
  );
  const recorder = new EpisodeRecorder();
  expect(record(recorder, steps, null).steps.map((each) => each.action.argument)).toEqual([long, long, long]);
  expect(record(recorder, steps.slice(1), null).steps).toHaveLength(2);
});
