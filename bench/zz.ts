import { policySpecSchema, actionLayout, CANDIDATE_TOKENS } from '../src/domain/policy-spec.ts';
import { createPolicy } from '../trainer/policy/inference.ts';
const spec = policySpecSchema.parse({}); const layout = actionLayout(spec);
const p = await createPolicy(spec, { threads: 1 });
for (const n of [32, 128, 256]) {
  const tokens = Int32Array.from({ length: n * spec.sentences * spec.tokens }, (_, i) => (i % 16 < 9 ? (i * 7919) % 4096 : 0));
  const cands = Int32Array.from({ length: n * layout.slots * CANDIDATE_TOKENS }, (_, i) => (i * 104729) % 4096);
  const mask = new Float32Array(n * layout.size).fill(1);
  for (let i = 0; i < 10; i++) await p.run(n, tokens, cands, mask);
  const times: number[] = [];
  for (let i = 0; i < 40; i++) { const t = performance.now(); const c = process.cpuUsage(); await p.run(n, tokens, cands, mask); const u = process.cpuUsage(c); times.push((u.user + u.system) / 1000); }
  times.sort((a, b) => a - b);
  console.log(n, 'cpu ms p10', times[4]!.toFixed(2), 'p50', times[20]!.toFixed(2), 'rows/cpu-s', (n / times[4]! * 1000).toFixed(0));
}
process.exit(0);
