import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { stableJson } from '../../src/domain/stable-json.ts';
import { fromTrainerSchema, toTrainerSchema } from '../../src/protocol/trainer.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import { fromWorkerSchema, toWorkerSchema } from '../../src/protocol/worker.ts';

/**
 * The shapes of all messages, as a hash. When it differs from this one, a process of another build may not understand them:
 * raise PROTOCOL_VERSION, and put both here.
 */
const KEPT = { version: 4, shapes: '8162df4ed7238b45' };

it('the version of the protocol goes with the shapes of its messages', () => {
  const schemas = [toWorkerSchema, fromWorkerSchema, toTrainerSchema, fromTrainerSchema];
  const shapes = schemas.map((schema) => z.toJSONSchema(schema, { io: 'input' }));
  const hash = createHash('sha256').update(stableJson(shapes)).digest('hex').slice(0, 16);
  expect({ version: PROTOCOL_VERSION, shapes: hash }).toEqual(KEPT);
});
