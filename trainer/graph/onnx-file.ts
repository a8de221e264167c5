import { LabError } from '../../src/domain/error.ts';
import { ancestorsOf } from './differentiate.ts';
import type { Node } from './node.ts';
import { emitNode } from './onnx-ops.ts';
import { OnnxWriter } from './onnx-writer.ts';

/**
 * An ONNX file (opset 18) that computes the named outputs. Nodes that no output needs are left out, and so are inputs:
 * a session asks only for those that matter. Throws `graph-invalid` without outputs, or when an output has an input's name.
 */
export function toModel(outputs: Readonly<Record<string, Node>>): Uint8Array {
  const named = Object.entries(outputs);
  if (named.length === 0)
    throw new LabError('graph-invalid', { message: 'a model without outputs: wanted one at least' });
  const writer = new OnnxWriter();
  const names = new Map<Node, string>();
  for (const node of ancestorsOf(Object.values(outputs))) {
    const inputs: readonly Node[] = node.inputs;
    names.set(
      node,
      emitNode(
        writer,
        node,
        inputs.flatMap((input) => names.get(input) ?? []),
      ),
    );
  }
  const taken = new Set(names.values());
  for (const [name, node] of named) {
    if (name.startsWith('%') || taken.has(name)) {
      throw new LabError('graph-invalid', {
        message: `model output "${name}": wanted a name that no input has`,
      });
    }
    writer.operator('Identity', [names.get(node) ?? ''], {}, name);
    writer.output(name, node);
  }
  return writer.finish();
}
