import { dirname } from 'node:path';
import { LabError } from '../../src/domain/error.ts';
import type { TensorType } from './node.ts';

/** Enough frames for any op built by way of this folder, the rules of `differentiate` included. */
const FRAMES = 50;

/**
 * A `graph-invalid` error that ends with the line which called the library, as `network.ts:112`. Looking for it costs a
 * stack trace, so make one of these only to throw it.
 */
export function graphError(message: string, hint?: string): LabError {
  const caller = callerOf(stackHere());
  return new LabError('graph-invalid', {
    message: caller === undefined ? message : `${message} (called from ${caller})`,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** An error for an op that does not fit its inputs. `wanted` completes "wanted …". */
export function misfit(op: string, inputs: readonly TensorType[], wanted: string): LabError {
  const got = inputs.length === 0 ? 'nothing' : inputs.map(describeType).join(' and ');
  return graphError(
    `graph op "${op}" on ${got}: wanted ${wanted}`,
    'Reshape, cast or broadcast the inputs where the graph is built.',
  );
}

/** `f32[B,4]`. */
function describeType(type: TensorType): string {
  return `${type.dtype}[${type.shape.join(',')}]`;
}

function stackHere(): string {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = FRAMES;
  const { stack = '' } = new Error('for its stack');
  Error.stackTraceLimit = limit;
  return stack;
}

/**
 * File name and line of the first frame of a file outside the folder of the first frame, which is this one. It is read
 * from the text of the stack, because that alone has passed through source maps, and compared with its own first frame,
 * because loaders differ in whether they name files by path or by URL, as source or as built.
 */
function callerOf(stack: string): string | undefined {
  const frames = stack.split('\n').flatMap((line) => frameOf(line) ?? []);
  const [own] = frames;
  if (own === undefined) return undefined;
  const outside = frames.find(({ file }) => dirname(file) !== dirname(own.file));
  return outside === undefined ? undefined : `${outside.file.split('/').at(-1) ?? ''}:${outside.line}`;
}

/** `at name (place)` or `at place`; undefined for the message, and for frames that are in no file. */
function frameOf(line: string): { readonly file: string; readonly line: string } | undefined {
  const frame = /^\s+at (?:async )?(.+)$/u.exec(line)?.[1];
  if (frame === undefined) return undefined;
  const place = frame.endsWith(')') ? frame.slice(frame.indexOf(' (') + 2, -1) : frame;
  const [, file, number] = /^(.+):(\d+):\d+$/u.exec(place) ?? [];
  if (file === undefined || number === undefined || file.startsWith('node:')) return undefined;
  return { file, line: number };
}
