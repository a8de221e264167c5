import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The licences of the packages that are inside the bundle, as their terms ask for: one section a package and version. `inputs` are the
 * paths, from the root, of the files that were bundled. Throws for a package that says no licence.
 */
export function thirdPartyNotices(root, inputs) {
  const folders = [...new Set(inputs.flatMap((input) => packageFolder(input) ?? []))].toSorted((a, b) =>
    a.localeCompare(b),
  );
  return folders.map((folder) => notice(join(root, folder))).join(`\n${'-'.repeat(80)}\n\n`);
}

/** `node_modules/a/node_modules/@b/c` of a file inside that package; null for a file of ours. */
function packageFolder(input) {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/u.exec(input)?.[0] ?? null;
}

function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (license === undefined) throw new Error(`${name} ${version} is bundled and says no licence`);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/iu.test(entry));
  const text = file === undefined ? '' : `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  return `${name} ${version} (${license})\n${text}`;
}
