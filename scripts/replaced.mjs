import { readFileSync } from 'node:fs';

/**
 * Files of packages, below node_modules, of which the bundle has something else: a function of the text of the file. What that imports
 * is looked for from the root.
 */
const REPLACED = {
  // For the developers of Ink alone, and needs a package that is not there.
  'ink/build/devtools.js': () => '',
  // Messages of zod in languages that the lab does not speak: a third of zod.
  'zod/v4/locales/index.js': () => '',
  // Fetches its own text as a URL, for which Node loads its HTTP client: a tenth of the time until the first frame.
  'yoga-layout/dist/binaries/yoga-wasm-base64-esm.js': (text) =>
    `const fetch = undefined;\nconst atob = (text) => Buffer.from(text, 'base64').toString('latin1');\n${text}`,
  // Prepares at load, and takes for every character but ASCII, what only emoji and other scripts need: another tenth. The
  // characters of views/line.ts take one column each, alone and together.
  'string-width/index.js': (text) =>
    edited(text, [
      [
        'const segmenter = new Intl.Segmenter();',
        'let made;\nconst segmenter = { segment: (text) => (made ??= new Intl.Segmenter()).segment(text) };',
      ],
      [
        String.raw`const rgiEmojiRegex = /^\p{RGI_Emoji}$/v;`,
        String.raw`let rgiEmoji;
const rgiEmojiRegex = { test: (text) => (rgiEmoji ??= new RegExp('^\\p{RGI_Emoji}$', 'v')).test(text) };`,
      ],
      [
        String.raw`if (/^[\u0020-\u007E]*$/.test(string)) {`,
        String.raw`if (/^[\u0020-\u007E]*$/.test(string) || (ambiguousIsNarrow &&
          /^[\u0020-\u007E\u00B7\u2010-\u2027\u203A\u2190-\u21FF\u2500-\u259F\u2800-\u28FF]*$/.test(string))) {`,
      ],
    ]),
};

/** Throws where the text is not the one that was edited once: after a new version somebody has to look. */
function edited(text, edits) {
  return edits.reduce((result, [old, wanted]) => {
    if (!result.includes(old)) throw new Error(`scripts/replaced.mjs: the file has no "${old}" any more`);
    return result.replace(old, () => wanted);
  }, text);
}

/** The plugin of the bundler that puts these files in; `root` is the folder of node_modules. */
export function replacedFiles(root) {
  const names = Object.keys(REPLACED).map((file) => file.replaceAll('.', '\\.'));
  return {
    name: 'replaced',
    setup({ onLoad }) {
      // As a filter, which is of Go, so that the other files are read without asking.
      onLoad({ filter: new RegExp(`/node_modules/(?:${names.join('|')})$`) }, ({ path }) => {
        const file = path.slice(path.indexOf('/node_modules/') + '/node_modules/'.length);
        // Another version, inside a package that needs that.
        if (!Object.hasOwn(REPLACED, file)) return undefined;
        return { contents: REPLACED[file](readFileSync(path, 'utf8')), resolveDir: root };
      });
    },
  };
}
