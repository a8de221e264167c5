import type { Dim, Shape } from './node.ts';

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dim, axis) => dim === b[axis]);
}

/** Whether an axis has a fixed length, and not a name. */
export function isLength(dim: Dim | undefined): dim is number {
  return typeof dim === 'number';
}

/** The name of the axis whose length is known only when the graph runs; undefined when all are fixed. */
export function namedAxis(shape: Shape): string | undefined {
  return shape.find((dim) => typeof dim === 'string');
}

/** The fixed lengths of a shape. */
export function fixedLengths(shape: Shape): readonly number[] {
  return shape.filter(isLength);
}

/** Number of elements of a shape without a named axis; undefined with one. */
export function staticSize(shape: Shape): number | undefined {
  let size = 1;
  for (const dim of shape) {
    if (!isLength(dim)) return undefined;
    size *= dim;
  }
  return size;
}

/** NumPy's rule: aligned at the last axis, 1 stretches; a name goes with itself and with 1. Undefined when they do not fit. */
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
