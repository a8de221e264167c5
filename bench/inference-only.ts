import { loadConfig } from '../src/config/load.ts';
import { actionLayout, CANDIDATE_TOKENS } from '../src/domain/policy-spec.ts';
import { createPolicy } from '../trainer/policy/inference.ts';

/** A process of the rollout benchmark: asks the policy about the same observations for so many seconds; prints rows/s. */

const ROWS = 128;
const seconds = Number(process.argv[2]);
const { config } = loadConfig(null, { file: 'demo' });
const spec = config.policy;
const layout = actionLayout(spec);
const policy = await createPolicy(spec, { threads: 1 });
const tokens = Int32Array.from({ length: ROWS * spec.sentences * spec.tokens }, (_, i) =>
  i % spec.tokens < spec.tokens / 2 ? 1 + ((i * 7919) % (spec.vocabulary - 1)) : 0,
);
const candidates = Int32Array.from(
  { length: ROWS * layout.slots * CANDIDATE_TOKENS },
  (_, i) => 1 + ((i * 104_729) % (spec.vocabulary - 1)),
);
const mask = new Float32Array(ROWS * layout.size).fill(1);
let rows = 0;
const started = performance.now();
while (performance.now() - started < seconds * 1000) {
  await policy.run(ROWS, tokens, candidates, mask);
  rows += ROWS;
}
console.log((rows * 1000) / (performance.now() - started));
process.exit(0);
