import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { errorText } from '../../../src/domain/error.ts';
import { differentiate } from '../../../trainer/graph/differentiate.ts';
import { createGraph } from '../../../trainer/graph/graph.ts';
import { toModel } from '../../../trainer/graph/onnx-file.ts';
import * as ops from '../../../trainer/graph/ops.ts';
import { adamStep } from '../../../trainer/graph/optimiser.ts';

const folder = mkdtempSync(join(tmpdir(), 'graph-caller-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Number of the first line that ends with a mark. */
function lineOf(source: string, mark: string): number {
  return source.split('\n').findIndex((line) => line.endsWith(`// ${mark}`)) + 1;
}

test('an error names the line that called the library, however deep inside it was found', () => {
  const g = createGraph();
  const x = g.input('x', 'f32', ['B', 4]);
  const p = g.parameter('p', [3]);
  const loss = ops.reduceSum(g, ops.sign(g, p));
  const scalar = g.scalar(1);
  const lists = { parameters: [p], gradients: [], m: [], v: [], learningRate: scalar, step: scalar };
  const options = { ...lists, epsilon: 1e-5, beta1: 0.9, beta2: 0.999, maxNorm: 1 };
  const source = readFileSync(import.meta.filename, 'utf8');
  const misuses: Record<string, () => unknown> = {
    binary: () => ops.add(g, x, p), // binary
    node: () => g.node('add', [x, p], {}), // node
    stretched: () => ops.mul(g, ops.broadcastLike(g, p, g.constant(new Float32Array(6), [2, 3])), x), // stretched
    index: () => ops.index(g, x, 1, 4), // index
    list: () => [1].map((axis) => ops.split(g, x, axis, [1, 1])), // list
    name: () => g.parameter('p', []), // name
    other: () => ops.exp(g, createGraph().scalar(1)), // other
    differentiate: () => differentiate(g, loss, [p]), // differentiate
    adam: () => adamStep(g, options), // adam
    model: () => toModel({}), // model
  };
  for (const [mark, misuse] of Object.entries(misuses)) {
    expect(misuse).toThrow(` (called from caller.test.ts:${lineOf(source, mark)})`);
  }
});

test('looking for the caller leaves the length of stack traces as it was', () => {
  const limit = Error.stackTraceLimit;
  expect(() => toModel({})).toThrow('called from');
  expect(Error.stackTraceLimit).toBe(limit);
  Error.stackTraceLimit = 0;
  let text = '';
  try {
    toModel({});
  } catch (thrown) {
    text = errorText(thrown);
  }
  const left = Error.stackTraceLimit;
  Error.stackTraceLimit = limit;
  expect(text).toContain('(called from caller.test.ts:');
  expect(left).toBe(0);
});

/** The types above the call go away when the file is compiled: only a source map gives the line back. */
const PROGRAM = `
interface Sizes {
  readonly rows: number;
  readonly columns: number;
}

const sizes: Sizes = { rows: 2, columns: 3 };

function weights(shape: readonly number[]) {
  const g = createGraph();
  return add(g, g.parameter('w', [sizes.rows]), g.parameter('b', shape)); // call
}

try {
  weights([sizes.columns]);
} catch (thrown) {
  console.log(String(thrown));
}
`;
const MESSAGE = 'graph op "add" on f32[2] and f32[3]: wanted';

/** Writes the program, with imports of the library's files in a folder; gives what it prints, and the end wanted of it. */
function run(name: string, library: string, extension: string, options: readonly string[]) {
  const url = (file: string): string => pathToFileURL(join(library, `${file}.${extension}`)).href;
  const program = name.endsWith('.mts')
    ? PROGRAM
    : PROGRAM.replace(/interface[^}]+\}/u, '').replaceAll(/: Sizes|: readonly number\[\]/gu, '');
  const source = `import { createGraph } from '${url('graph')}';\nimport { add } from '${url('ops')}';\n${program}`;
  const path = join(folder, name);
  writeFileSync(path, source);
  const printed = execFileSync(process.execPath, [...options, path], { encoding: 'utf8' });
  return { printed, wanted: `(called from ${name}:${lineOf(source, 'call')})` };
}

test('the line is that of the source when TypeScript is run as it is', () => {
  const { printed, wanted } = run('calls.mts', 'trainer/graph', 'ts', ['--import', 'tsx']);
  expect(printed).toContain(MESSAGE);
  expect(printed).toContain(wanted);
});

test('the line is that of the file when the built library is used, with source maps and without', () => {
  for (const options of [[], ['--enable-source-maps']]) {
    const { printed, wanted } = run('calls.mjs', 'dist/trainer/graph', 'js', options);
    expect(printed).toContain(MESSAGE);
    expect(printed).toContain(wanted);
  }
});
