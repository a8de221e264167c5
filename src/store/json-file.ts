import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { LabError, systemErrorCode } from '../domain/error.ts';
import { reasonText, storeError } from './store-error.ts';

/** What a JSON file holds; null when there is none. Throws `store-failed`, with this hint, when it is damaged. */
export function readJsonFile<Value>(path: string, schema: z.ZodType<Value>, hint: string): Value | null {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (thrown) {
    if (systemErrorCode(thrown) === 'ENOENT') return null;
    throw storeError(thrown, 'read', path);
  }
  try {
    return schema.parse(JSON.parse(content));
  } catch (thrown) {
    const message = `${path} is damaged: ${reasonText(thrown)}`;
    throw new LabError('store-failed', { message, hint, cause: thrown });
  }
}
