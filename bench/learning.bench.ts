import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { type Benchmark, median } from './benchmark.ts';

const rowSchema = z.object({
  iteration: z.number(),
  elapsedS: z.number(),
  envSteps: z.number(),
  heldOutSuccess: z.number().nullable(),
  heldOutGreedy: z.number().nullable(),
  heldOutByFamily: z.record(z.string(), z.number()),
  heldOutGreedyByFamily: z.record(z.string(), z.number()),
});
type Row = z.infer<typeof rowSchema>;

/** The demo run itself, as a user starts it, once for each seed; the curve is that of its own held-out evaluations. */
export const learning: Benchmark = {
  name: 'learning',
  measures: 'minutes until the demo run reaches 80 % and 95 % held-out success, median of seeds',
  async run({ minutes, seeds, say }) {
    const curves: Row[][] = [];
    for (const seed of seeds) {
      say(`seed ${seed}, ${minutes} min`);
      curves.push(await trainOnce(seed, minutes, say));
    }
    const minutesTo = (goal: number): (number | null)[] =>
      curves.map((rows) => {
        const row = rows.find(({ heldOutSuccess }) => (heldOutSuccess ?? 0) >= goal);
        return row === undefined ? null : row.elapsedS / 60;
      });
    const last = curves.map((rows) => rows.at(-1));
    const worstFamily = last.map((row) =>
      Math.min(
        ...Object.values(row?.heldOutByFamily ?? {}),
        ...Object.values(row?.heldOutGreedyByFamily ?? {}),
      ),
    );
    return {
      figures: {
        minutesTo80: median(minutesTo(0.8)),
        minutesTo95: median(minutesTo(0.95)),
        finalSampled: median(last.map((row) => row?.heldOutSuccess ?? null)),
        finalGreedy: median(last.map((row) => row?.heldOutGreedy ?? null)),
        lowestFinal: Math.min(...last.flatMap((row) => [row?.heldOutSuccess ?? 0, row?.heldOutGreedy ?? 0])),
        worstFamily: Math.min(...worstFamily),
      },
      conditions: { minutes, seeds: seeds.join(',') },
      details: curves.flatMap((rows, index) => describeCurve(seeds[index] ?? 0, rows)),
    };
  },
};

async function trainOnce(seed: number, minutes: number, say: (line: string) => void): Promise<Row[]> {
  const runs = mkdtempSync(join(tmpdir(), 'agentrl-bench-'));
  const args = ['run', '--headless', '--json', '--minutes', String(minutes), '--seed', String(seed)];
  const child = spawn('node', ['dist/src/cli/main.js', ...args, '--runs', runs], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const rows: Row[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const row = rowSchema.parse(JSON.parse(line));
    if (row.heldOutSuccess !== rows.at(-1)?.heldOutSuccess) {
      say(`  ${(row.elapsedS / 60).toFixed(1)} min  held-out ${percent(row.heldOutSuccess)}`);
    }
    rows.push(row);
  }
  rmSync(runs, { recursive: true, force: true });
  return rows;
}

function describeCurve(seed: number, rows: readonly Row[]): string[] {
  const families = Object.keys(rows.at(-1)?.heldOutByFamily ?? {}).toSorted();
  const lines = [`seed ${seed}: min  env steps  sampled  greedy  ${families.join('  ')}`];
  let nextMinute = 1;
  for (const [index, row] of rows.entries()) {
    if (row.elapsedS / 60 < nextMinute && index < rows.length - 1) continue;
    nextMinute = Math.floor(row.elapsedS / 60) + 1;
    const byFamily = families.map((name) => percent(row.heldOutByFamily[name] ?? null).padStart(name.length));
    lines.push(
      [
        (row.elapsedS / 60).toFixed(1).padStart(12),
        `${(row.envSteps / 1e6).toFixed(2)} M`.padStart(9),
        percent(row.heldOutSuccess).padStart(7),
        percent(row.heldOutGreedy).padStart(6),
        ...byFamily,
      ].join('  '),
    );
  }
  return lines;
}

function percent(value: number | null): string {
  return value === null ? '–' : `${(value * 100).toFixed(0)} %`;
}
