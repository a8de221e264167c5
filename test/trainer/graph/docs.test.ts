import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { createGraph } from '../../../trainer/graph/graph.ts';
import { toModel } from '../../../trainer/graph/onnx-file.ts';
import * as ops from '../../../trainer/graph/ops.ts';
import { decode } from './protobuf-reader.ts';

const page = readFileSync('docs/GRAPH.md', 'utf8');

test('the page names every function of ops.ts in its table', () => {
  const cells = page.split('\n').flatMap((line) => (line.startsWith('| `') ? [line.split('|')[1]!] : []));
  const named = cells.flatMap((cell) => cell.match(/\w+/gu) ?? []);
  expect(named.toSorted()).toEqual(Object.keys(ops).toSorted());
});

test('the opset and the IR version are those of the files', () => {
  const fields = decode(toModel({ y: createGraph().scalar(1) }));
  const version = fields.find(({ field }) => field === 1)?.integer;
  const opsets = fields.filter(({ field }) => field === 8).map(({ bytes }) => decode(bytes));
  expect(opsets).toHaveLength(1);
  const opset = opsets[0]!.find(({ field }) => field === 2)?.integer;
  expect(page).toContain(`(opset ${opset}, IR version ${version},`);
  expect(page).toContain(`- Opset ${opset}, IR version ${version}, the default operator domain.`);
});

test('the examples run and print what their comments say', () => {
  const examples = [...page.matchAll(/^```ts\n(.*?)^```/gmsu)].map(([, code = '']) => code);
  expect(examples).toHaveLength(2);
  const folder = mkdtempSync(join(tmpdir(), 'graph-docs-'));
  try {
    for (const [index, code] of examples.entries()) {
      const path = join(folder, `example${index}.mts`);
      writeFileSync(path, code.replaceAll("'../", `'${pathToFileURL('.').href}/`));
      const printed = execFileSync(process.execPath, ['--import', 'tsx', path], { encoding: 'utf8' });
      const wanted = [...code.matchAll(/\/\/ prints: (.*)$/gmu)].map(([, text]) => text);
      expect(wanted).not.toEqual([]);
      expect(printed.trimEnd().split('\n')).toEqual(wanted);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
