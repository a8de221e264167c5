import type { TextPolicySpec } from '../../src/domain/policy-spec.ts';
import { CANDIDATE_TOKENS } from '../../src/domain/policy-spec.ts';
import { createGraph, type Graph } from '../graph/graph.ts';
import type { Node } from '../graph/node.ts';
import { toModel } from '../graph/onnx-file.ts';
import { gatherRows } from '../graph/ops.ts';
import { gruStep } from './gru.ts';
import { parameterShapes } from './parameters.ts';
import {
  buildHeads,
  candidateKeys,
  projectLines,
  type TextParameters,
  textParametersOf,
} from './text-network.ts';

/*
 * The text policy's network in the parts that a sampler runs: each only for what is new. Together they are
 * `buildTextNetwork`, but for what joint-distribution.ts does. Parameters are inputs under their own names.
 */

/** `tokens` i32 [lines, tokens] → `projected` [lines, 3 hidden]: lines as the GRU takes them. */
export function linesModel(spec: TextPolicySpec): Uint8Array {
  const { g, p } = begin(spec);
  const tokens = g.input('tokens', 'i32', ['lines', spec.tokens]);
  return toModel({ projected: projectLines(g, spec, p, tokens) });
}

/** `candidates` i32 [candidates, CANDIDATE_TOKENS] → `keys` [candidates, embedding]. */
export function keysModel(spec: TextPolicySpec): Uint8Array {
  const { g, p } = begin(spec);
  return toModel({
    keys: candidateKeys(g, p, g.input('candidates', 'i32', ['candidates', CANDIDATE_TOKENS])),
  });
}

/** One line read: `state` [B, hidden], `projected` [lines, 3 hidden] and which of them, `line` i32 [B] → `next` [B, hidden]. */
export function readModel(spec: TextPolicySpec): Uint8Array {
  const { g, p } = begin(spec);
  return toModel({ next: readLine(g, spec, p) });
}

/** The last line read, and what the heads say then: inputs as `readModel`; outputs `types`, `queries`, `value`, as in `TextHeads`. */
export function answerModel(spec: TextPolicySpec): Uint8Array {
  const { g, p } = begin(spec);
  const { type, queries, value } = buildHeads(g, p, readLine(g, spec, p));
  return toModel({ types: type, queries, value });
}

function begin(spec: TextPolicySpec): { readonly g: Graph; readonly p: TextParameters } {
  const g = createGraph();
  const parameters = new Map(
    parameterShapes(spec).map(({ name, shape }): [string, Node] => [name, g.parameter(name, shape)]),
  );
  return { g, p: textParametersOf(spec, (name) => parameters.get(name) ?? g.parameter(name, [])) };
}

function readLine(g: Graph, { hidden }: TextPolicySpec, p: TextParameters): Node {
  const state = g.input('state', 'f32', ['B', hidden]);
  const projected = g.input('projected', 'f32', ['lines', 3 * hidden]);
  return gruStep(g, p, gatherRows(g, projected, g.input('line', 'i32', ['B'])), state);
}
