import { episodeId } from '../src/domain/id.ts';
import { actionLayout, observationTensors, type PolicySpec } from '../src/domain/policy-spec.ts';
import { createRandom } from '../src/domain/random.ts';
import { type Attachments, bytesOf } from '../src/protocol/frame.ts';
import type { SamplesHeader } from '../src/protocol/trainer.ts';

/** Episodes as a worker would send them, of random words below `words`: every action legal and as likely as any other. */
export function sampleMessages(
  spec: PolicySpec,
  { episodes, steps, words, seed }: Readonly<Record<'episodes' | 'steps' | 'words' | 'seed', number>>,
): { readonly samples: SamplesHeader; readonly attachments: Attachments }[] {
  const random = createRandom(seed);
  const { size } = actionLayout(spec);
  return Array.from({ length: episodes }, (_, episode) => {
    const attachments: Record<string, Uint8Array> = {
      actions: bytesOf(Uint16Array.from({ length: steps }, () => random.integer(size))),
      logProbabilities: floats(steps * size, () => -Math.log(size)),
      values: floats(steps, () => 0),
      rewards: floats(steps, () => random.next()),
      versions: bytesOf(new Uint32Array(steps)),
    };
    for (const { name, width } of observationTensors(spec)) {
      const length = steps * width;
      attachments[name] =
        name === 'mask'
          ? new Uint8Array(length).fill(1)
          : bytesOf(Uint16Array.from({ length }, () => random.integer(words)));
    }
    const id = episodeId(seed * episodes + episode + 1);
    return { samples: { id, steps, terminated: true, bootstrapValue: null }, attachments };
  });
}

function floats(length: number, value: () => number): Uint8Array {
  return bytesOf(Float32Array.from({ length }, value));
}
