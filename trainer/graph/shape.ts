import { LabError } from '../../src/domain/error.ts';
import type { Shape, TensorType } from './node.ts';

/** `f32[B,4]`. */
function describeType(type: TensorType): string {
  return `${type.dtype}[${type.shape.join(',')}]`;
}

/** A `graph-invalid` error for an op that does not fit its inputs. `wanted` completes "wanted …". */
export function misfit(op: string, inputs: readonly TensorType[], wanted: string): LabError {
  const got = inputs.length === 0 ? 'nothing' : inputs.map(describeType).join(' and ');
  return new LabError('graph-invalid', {
    message: `graph op "${op}" on ${got}: wanted ${wanted}`,
    hint: 'Reshape, cast or broadcast the inputs where the graph is built.',
  });
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dim, axis) => dim === b[axis]);
}

/** Number of elements of a shape without 'B'; undefined with it. */
export function staticSize(shape: Shape): number | undefined {
  let size = 1;
  for (const dim of shape) {
    if (dim === 'B') return undefined;
    size *= dim;
  }
  return size;
}

/** NumPy's rule: aligned at the last axis, 1 stretches; 'B' goes with 'B' and with 1. Undefined when they do not fit. */
export function broadcastShapes(shapes: readonly Shape[]): Shape | undefined {
  const rank = Math.max(0, ...shapes.map((shape) => shape.length));
  const result = Array.from({ length: rank }, (): Shape[number] => 1);
  for (const shape of shapes) {
    for (const [index, dim] of shape.entries()) {
      const axis = rank - shape.length + index;
      if (dim === 1 || dim === result[axis]) continue;
      if (result[axis] !== 1) return undefined;
      result[axis] = dim;
    }
  }
  return result;
}

/** Axis counted from the front; negative ones count from the back. Undefined when there is no such axis. */
export function resolveAxis(axis: number, rank: number): number | undefined {
  const resolved = axis < 0 ? axis + rank : axis;
  return Number.isInteger(resolved) && resolved >= 0 && resolved < rank ? resolved : undefined;
}
