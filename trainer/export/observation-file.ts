import {
  actionLayout,
  CANDIDATE_TOKENS,
  observationTensors,
  type PolicySpec,
  type TextPolicySpec,
} from '../../src/domain/policy-spec.ts';
import { ACTION_TYPES, ARGUMENT_TYPES } from '../../src/domain/space.ts';
import { keysOf } from '../../src/domain/table.ts';
import type { ExportOrigin } from '../../src/protocol/export.ts';
import type { Sight } from '../policy/encode.ts';
import { FEATURE } from '../policy/line-reader.ts';

const FILE_FORMAT = 1;

/** What the policy looks at, the model's inputs for it, row-major, and the outputs. */
export interface Example {
  readonly sight: Sight;
  readonly inputs: Readonly<Record<string, readonly number[]>>;
  readonly outputs: { readonly logProbabilities: readonly number[]; readonly value: number };
}

/**
 * The file that says how an observation becomes the model's inputs, and what its outputs mean: `tokenizer.json` for a policy
 * that reads text, `features.json` for one that reads numbers. docs/EXPORT.md explains it.
 */
export function observationFile(
  spec: PolicySpec,
  origin: ExportOrigin,
  examples: readonly Example[],
): { readonly name: string; readonly content: object } {
  const { blocks, bare, size } = actionLayout(spec);
  const common = {
    format: FILE_FORMAT,
    kind: spec.kind,
    origin,
    model: {
      file: 'policy.onnx',
      inputs: observationTensors(spec).map(({ name, element, shape }) => ({
        name,
        type: element === 'u16' ? 'int32' : 'float32',
        shape: ['B', ...shape],
      })),
      outputs: [
        { name: 'logProbabilities', type: 'float32', shape: ['B', size] },
        { name: 'value', type: 'float32', shape: ['B'] },
      ],
    },
    actions: { types: ACTION_TYPES, withArgument: ARGUMENT_TYPES, blocks, bare, size },
  };
  if (spec.kind === 'text') {
    const shown = examples.map(({ sight: { observation }, inputs, outputs }) => ({
      observation,
      inputs,
      outputs,
    }));
    return { name: 'tokenizer.json', content: { ...common, ...textEncoding(spec), examples: shown } };
  }
  const { features, window } = spec;
  const shown = examples.map(({ sight: { observation, history }, inputs, outputs }) => {
    const { legal, candidates } = observation;
    return { observation: { legal, candidates }, history, inputs, outputs };
  });
  const encoding = {
    algorithm: { name: 'feature-window', version: 1 },
    sizes: { features, window, width: features + (window > 1 ? 1 : 0) },
    layout:
      window > 1
        ? 'one row for each of the newest `window` observations of the episode, oldest first: its numbers, then a 1; rows for what was before the episode hold zeros'
        : "the observation's numbers, in the environment's order",
  };
  return { name: 'features.json', content: { ...common, ...encoding, examples: shown } };
}

/** The numbers and texts that the encoder is made of: see line-reader.ts, words.ts and observation-encoder.ts. */
function textEncoding(spec: TextPolicySpec): object {
  const { vocabulary, sentences, taskSentences, tokens } = spec;
  return {
    algorithm: { name: 'hashed-words', version: 2 },
    sizes: { vocabulary, sentences, taskSentences, tokens, candidateTokens: CANDIDATE_TOKENS },
    words: {
      lowerCase: 'Unicode, without a locale',
      ranges: [
        [0x30, 0x39],
        [0x61, 0x7a],
        [0x80, 0xffff],
      ],
      connectors: "-_.@'",
    },
    hash: {
      unit: 'UTF-16 code unit',
      fnvOffset: 0x811c9dc5,
      fnvPrime: 0x01000193,
      shifts: [16, 13, 16],
      multipliers: [0x85ebca6b, 0xc2b2ae35],
      featureMultiplier: 0x9e3779b1,
      absent: '\u0000absent',
      lineStart: '\u0000start',
    },
    padding: 0,
    featureOrder: keysOf(FEATURE),
  };
}
