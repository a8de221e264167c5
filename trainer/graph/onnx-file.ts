import { bytesOf } from '../../src/protocol/frame.ts';
import { ancestorsOf } from './differentiate.ts';
import { graphError, misfit } from './graph-error.ts';
import type { Node, NodeOf, TensorData } from './node.ts';
import { emitNode } from './onnx-ops.ts';
import { OnnxWriter } from './onnx-writer.ts';
import { fixedLengths, staticSize } from './shape.ts';
import { dtypeOf } from './shape-rules.ts';

/** A file of protocol buffers holds at most this many bytes; of the room, this much is left for everything but tensors. */
const LARGEST_FILE = 2 ** 31 - 1;
const ROOM_FOR_NODES = 2 ** 26;

/** What a model file holds besides its graph. */
export interface ModelOptions {
  /**
   * Data, row-major, of inputs and parameters that become constants of the file (ONNX calls them initialisers), by name.
   * Such an input is no longer asked for; the constant keeps its name.
   */
  readonly initialisers?: Readonly<Record<string, TensorData>>;
  /** Name of the program that the file says made it; `agentrl-lab` by default. */
  readonly producer?: string;
  /** Notes kept in the file (ONNX: metadata_props): what a reader needs beside the graph, such as a vocabulary. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * An ONNX file (opset 18) that computes the named outputs. Nodes that no output needs are left out, and so are inputs:
 * a session asks only for those that matter. Throws `graph-invalid` without outputs, when an output has an input's name,
 * for initialisers that do not fit an input that is needed, and when they leave no room in a file of 2 GiB.
 */
export function toModel(outputs: Readonly<Record<string, Node>>, options: ModelOptions = {}): Uint8Array {
  const named = Object.entries(outputs);
  if (named.length === 0) throw graphError('a model without outputs: wanted one at least');
  const nodes = ancestorsOf(Object.values(outputs));
  const initialisers = new Map(Object.entries(options.initialisers ?? {}));
  checkInitialisers(nodes, initialisers);
  const writer = new OnnxWriter();
  const names = new Map<Node, string>();
  for (const node of nodes) {
    const inputs: readonly Node[] = node.inputs;
    const given = inputs.flatMap((input) => names.get(input) ?? []);
    names.set(node, embed(writer, node, initialisers) ?? emitNode(writer, node, given));
  }
  const taken = new Set(names.values());
  for (const [name, node] of named) {
    if (name.startsWith('%') || taken.has(name)) {
      throw graphError(`model output "${name}": wanted a name that no input has`);
    }
    writer.operator('Identity', [names.get(node) ?? ''], {}, name);
    writer.output(name, node);
  }
  return writer.finish(options.producer ?? 'agentrl-lab', options.metadata ?? {});
}

function isInput(node: Node): node is NodeOf<'input' | 'parameter'> {
  return node.op === 'input' || node.op === 'parameter';
}

/** Writes an input that has an initialiser as a constant of the same name, and gives the name. */
function embed(
  writer: OnnxWriter,
  node: Node,
  initialisers: ReadonlyMap<string, TensorData>,
): string | undefined {
  if (!isInput(node)) return undefined;
  const data = initialisers.get(node.attributes.name);
  if (data === undefined) return undefined;
  const shape = fixedLengths(node.shape);
  return writer.initializer({ dtype: node.dtype, shape }, bytesOf(data), node.attributes.name);
}

function checkInitialisers(nodes: readonly Node[], initialisers: ReadonlyMap<string, TensorData>): void {
  const inputs = new Map(nodes.filter(isInput).map((node) => [node.attributes.name, node]));
  let bytes = 0;
  for (const node of nodes) if (node.op === 'constant') bytes += node.attributes.data.byteLength;
  for (const [name, data] of initialisers) {
    const node = inputs.get(name);
    if (node === undefined) {
      throw graphError(
        `initialiser "${name}": wanted the name of an input that an output needs, one of: ${[...inputs.keys()].join(', ') || 'none'}`,
        'Leave it out, or name an output that depends on it.',
      );
    }
    const dtype = dtypeOf(data);
    if (dtype !== node.dtype || staticSize(node.shape) !== data.length) {
      throw misfit(
        `initialiser "${name}"`,
        [node],
        `data to fit, all of fixed length, not ${data.length} of ${dtype}`,
      );
    }
    bytes += data.byteLength;
  }
  if (bytes > LARGEST_FILE - ROOM_FOR_NODES) {
    throw graphError(
      `a model with ${bytes} bytes of constants: wanted at most ${LARGEST_FILE - ROOM_FOR_NODES}`,
      'Leave the largest parameters out of the initialisers and feed them.',
    );
  }
}
