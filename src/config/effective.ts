import { Document, isCollection, isScalar } from 'yaml';
import { leafPaths, type Origins } from './load.ts';
import type { Config } from './schema.ts';
import { valueAt } from './source.ts';

/** The whole config as YAML, each value followed by a comment that says where it comes from. Loads again as it is. */
export function formatEffective(config: Config, origins: Origins): string {
  const document = new Document(config, { aliasDuplicateObjects: false });
  for (const path of leafPaths(config)) {
    const node: unknown = document.getIn(path, true);
    if (!isScalar(node) && !isCollection(node)) continue;
    if (isCollection(node)) node.flow = true;
    const text = valueAt(config, path);
    // A comment would end up inside a text of several lines.
    if (typeof text === 'string' && text.includes('\n')) continue;
    node.comment = ` ${origins.get(path.join('.')) ?? 'default'}`;
  }
  return document.toString({ lineWidth: 0 });
}
