import { gradientsOf } from './gradients.ts';
import type { Graph } from './graph.ts';
import { graphError, misfit } from './graph-error.ts';
import type { Node, NodeOf } from './node.ts';
import { add, concat, scatterAddRows } from './ops.ts';
import { sameShape } from './shape.ts';

/**
 * Reverse-mode differentiation: the gradients of a float32 scalar in each parameter (any node will do), as nodes of the
 * parameters' shapes. Throws `graph-invalid` for a loss that is no scalar or does not depend on a parameter, and for an op
 * without a rule on the way between them.
 */
export function differentiate(g: Graph, loss: Node, parameters: readonly Node[]): Node[] {
  if (loss.dtype !== 'f32' || loss.shape.length > 0)
    throw misfit('differentiate', [loss], 'a f32 scalar as the loss');
  const order = between(loss, new Set(parameters));
  const needed = new Set(order);
  const contributions = new Map<Node, Node[]>([[loss, [g.scalar(1)]]]);
  const gradients = new Map<Node, Node>();
  for (const node of order) {
    const parts = contributions.get(node);
    if (parts === undefined) continue;
    const gradient = total(g, parts);
    gradients.set(node, gradient);
    if (!node.inputs.some((input) => needed.has(input))) continue;
    const flowing = checkedGradients(g, node, gradient);
    for (const [position, input] of node.inputs.entries()) {
      const part = flowing[position];
      if (part === null || part === undefined || !needed.has(input)) continue;
      const known = contributions.get(input);
      if (known === undefined) contributions.set(input, [part]);
      else known.push(part);
    }
  }
  return parameters.map((parameter) => gradients.get(parameter) ?? unreached(parameter));
}

/** The nodes from the loss down to the parameters, each before its inputs: ids only grow, so falling ids will do. */
function between(loss: Node, parameters: ReadonlySet<Node>): Node[] {
  const ancestors = ancestorsOf([loss]);
  const needed = new Set<Node>();
  for (const node of ancestors) {
    if (parameters.has(node) || node.inputs.some((input) => needed.has(input))) needed.add(node);
  }
  return [...needed].toReversed();
}

/** All nodes that these are computed from, and these, each after its inputs. */
export function ancestorsOf(nodes: readonly Node[]): Node[] {
  const seen = new Set<Node>(nodes);
  const open: Node[] = [...nodes];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const input of node.inputs) {
      if (seen.has(input)) continue;
      seen.add(input);
      open.push(input);
    }
  }
  return [...seen].toSorted((a, b) => a.id - b.id);
}

function checkedGradients(g: Graph, node: Node, gradient: Node): readonly (Node | null)[] {
  const flowing = gradientsOf(g, node, gradient);
  if (flowing === undefined) {
    throw graphError(
      `differentiate: op "${node.op}" (node ${node.id}) has no gradient, and a parameter is behind it`,
      'Use stopGradient if none is meant to flow.',
    );
  }
  if (flowing.length !== node.inputs.length) {
    throw misfit(`gradient of ${node.op}`, node.inputs, `one gradient per input, got ${flowing.length}`);
  }
  for (const [position, input] of node.inputs.entries()) {
    const part = flowing[position];
    if (part !== null && part !== undefined && !sameShape(part.shape, input.shape)) {
      throw misfit(`gradient of ${node.op}`, [part], `[${input.shape.join(',')}] for input ${position}`);
    }
  }
  return flowing;
}

/**
 * The sum of the gradients that reach a node from its uses. Two kinds are not added but put together: scatters into zeros
 * (the uses of an embedding table) are chained, each adding to the result of the one before; padded parts that cover an
 * axis without overlap (the uses of slices) are concatenated.
 */
function total(g: Graph, parts: readonly Node[]): Node {
  const joined = joinSlices(g, parts);
  if (joined !== undefined) return joined;
  const dense = parts.filter((part) => !isFreshScatter(part));
  const scatters = parts.filter(isFreshScatter);
  const [first, ...others] = dense;
  const sum = others.reduce<Node | undefined>(
    (left, right) => (left === undefined ? right : add(g, left, right)),
    first,
  );
  return scatters.reduce<Node>(
    (base, { inputs: [, ids, updates] }) => scatterAddRows(g, base, ids, updates),
    sum ?? scatters[0]?.inputs[0] ?? g.scalar(0),
  );
}

function isFreshScatter(node: Node): node is NodeOf<'scatterAddRows'> {
  return node.op === 'scatterAddRows' && node.inputs[0].op === 'zeros';
}

function joinSlices(g: Graph, parts: readonly Node[]): Node | undefined {
  const pads = parts
    .filter((part) => part.op === 'pad')
    .toSorted((a, b) => a.attributes.before - b.attributes.before);
  const [first] = pads;
  if (first === undefined || pads.length < parts.length || parts.length === 1) return undefined;
  const { axis } = first.attributes;
  let next = 0;
  for (const { attributes, inputs } of pads) {
    const length = inputs[0].shape[axis];
    if (attributes.axis !== axis || attributes.before !== next || typeof length !== 'number')
      return undefined;
    next += length;
  }
  if (next !== first.shape[axis]) return undefined;
  return concat(
    g,
    pads.map((part) => part.inputs[0]),
    axis,
  );
}

function unreached(parameter: Node): never {
  const name =
    parameter.op === 'parameter' ? `parameter "${parameter.attributes.name}"` : `node ${parameter.id}`;
  throw graphError(
    `differentiate: the loss does not depend on ${name}`,
    'Leave it out, or connect it to the loss.',
  );
}
