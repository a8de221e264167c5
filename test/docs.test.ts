import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BEHAVIOUR_NAMES, FAILURE_TYPES } from '../src/domain/failure.ts';
import { KNOB_NAMES } from '../src/domain/knob.ts';
import { LAB_VERSION } from '../src/domain/lab-version.ts';

const pages = ['README.md', ...readdirSync('docs').map((name) => join('docs', name))].filter((path) =>
  path.endsWith('.md'),
);
const texts = new Map(pages.map((path) => [path, readFileSync(path, 'utf8')]));
const everything = [...texts.values()].join('\n');

describe('the documentation', () => {
  it('names every failure type and behaviour', () => {
    const missing = [...FAILURE_TYPES, ...BEHAVIOUR_NAMES].filter((name) => !everything.includes(name));
    expect(missing).toEqual([]);
  });

  it('names every knob in the page on the config', () => {
    const config = texts.get('docs/CONFIG.md') ?? '';
    expect(KNOB_NAMES.filter((name) => !config.includes(`\`${name}\``))).toEqual([]);
  });

  it('names every verb in the README', () => {
    const readme = texts.get('README.md') ?? '';
    const verbs =
      'run attach branch resume pause stop workers slots set undo preview ls episodes show replay fork export devices bench config sql alert compare pin compact archive'.split(
        ' ',
      );
    expect(verbs.filter((verb) => !readme.includes(verb))).toEqual([]);
  });

  it('links only to files that exist', () => {
    const broken = pages.flatMap((path) =>
      [...(texts.get(path) ?? '').matchAll(/\]\((?!https?:|#)([^)#]+)/gu)]
        .map(([, target = '']) => join(path, '..', target))
        .filter((target) => {
          try {
            readFileSync(target);
            return false;
          } catch {
            return true;
          }
        }),
    );
    expect(broken).toEqual([]);
  });

  it('holds no path of the machine that it was written on', () => {
    const files = execFileSync('git', ['ls-files', '*.md', '*.json', '*.yaml', '*.txt'], {
      encoding: 'utf8',
    });
    const tracked = files.split('\n').filter((path) => path !== '' && path !== 'package-lock.json');
    const found = tracked.filter((path) => /\/(?:work|root|home)\/[a-z]/u.test(readFileSync(path, 'utf8')));
    expect(found).toEqual([]);
  });

  it('and the program say the same version', () => {
    expect(JSON.parse(readFileSync('package.json', 'utf8'))).toMatchObject({ version: LAB_VERSION });
  });
});
