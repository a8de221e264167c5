import { visibleText } from '../../domain/visible-text.ts';
import {
  type Column,
  formatAmount,
  formatCount,
  formatNumber,
  formatRate,
  formatShort,
  formatTable,
} from '../format.ts';
import { LIMITS, rankShares } from './limit.ts';
import type { BenchReport, StageReport } from './report.ts';
import type { FailureCount, FamilyResult, Spread } from './tally.ts';

/** What each stage is, in the order in which a task goes through them. */
const STAGES = { task: 'make the task', reset: 'reset', step: 'step' } as const;

/** Below it, what the workers' time is said to have gone to is in part a wait for a core. */
const COMPUTES = 0.7;

/** In less time than that, what is done once, as compiling, is most of it. */
const ENOUGH_S = 2;

/** The whole report for people, line by line. `alone` makes the command that tries one task from its name. */
export function formatBench(report: BenchReport, alone: (task: string) => string): string[] {
  return [
    ...formatHead(report),
    ...report.failures.filter(({ isVoid }) => isVoid).flatMap((failure) => formatVoid(failure, alone)),
    '',
    ...formatStages(report),
    '',
    ...formatFamilies(report.families),
    '',
    ...formatWorkers(report),
    '',
    ...formatLimit(report),
  ];
}

function formatHead(report: BenchReport): string[] {
  const { tasks, wanted, env, version, steps } = report;
  const valid = tasks - report.void;
  const others = report.failures
    .filter(({ isVoid }) => !isVoid)
    .map(({ type, count }) => `${type} ${formatCount(count)}`);
  return [
    `environment   ${env === null ? 'not known: no worker came up' : visibleText(`${env} ${version ?? ''}`)}, a random policy`,
    `tasks         ${formatCount(tasks)} of ${formatCount(wanted)} in ${formatSeconds(report.elapsedS)}${formatEnd(report)}`,
    `success       ${formatShare(report.success, valid)}`,
    `failed        ${others.length === 0 ? 'none' : others.join(', ')}`,
    `void          ${report.void === 0 ? 'none' : `${formatShare(report.void, tasks)}: the environment failed, see below`}`,
    `steps a task  ${steps === null ? '–' : `mean ${steps.mean.toFixed(1)}, p50 ${steps.p50}, p95 ${steps.p95}, max ${steps.max}`}`,
    `throughput    ${formatShort(report.stepsPerS)} steps/s, ${formatShort(report.tasksPerS)} tasks/s`,
  ];
}

function formatEnd({ end, reason, deadWorkers }: BenchReport): string {
  const why = reason === null ? '' : `: ${visibleText(reason)}`;
  const lost = deadWorkers.length === 0 ? '' : `; given up: ${deadWorkers.join(', ')}`;
  if (end === 'finished') return lost;
  return `; ${end === 'interrupted' ? 'interrupted' : 'stopped'}${why}${lost}`;
}

function formatVoid({ type, count, first }: FailureCount, alone: (task: string) => string): string[] {
  const where = `${visibleText(first.task)}, after ${formatAmount(first.steps, 'step')}, on ${first.worker}`;
  return [
    '',
    `${type}: ${formatAmount(count, 'task')}; the first: ${visibleText(first.detail ?? 'no detail')}`,
    `  task   ${where}`,
    `  alone  ${alone(first.task)}`,
  ];
}

type StageRow = readonly [keyof typeof STAGES, StageReport];

function quantile(title: string, name: Exclude<keyof StageReport, 'calls'>): Column<StageRow> {
  return { title, align: 'right', cell: ([, stage]) => formatNumber(stage[name]) };
}

function formatStages({ stages }: BenchReport): string[] {
  const rows: readonly StageRow[] = [
    ['task', stages.task],
    ['reset', stages.reset],
    ['step', stages.step],
  ];
  return formatTable<StageRow>(
    [
      { title: 'MS OF ONE', align: 'left', cell: ([name]) => STAGES[name] },
      { title: 'CALLS', align: 'right', cell: ([, { calls }]) => formatCount(calls) },
      quantile('MEAN', 'meanMs'),
      quantile('P50', 'p50Ms'),
      quantile('P95', 'p95Ms'),
      quantile('P99', 'p99Ms'),
      quantile('MAX', 'maxMs'),
    ],
    rows,
  );
}

function spread(title: string, of: 'reward' | 'steps', name: keyof Spread): Column<FamilyResult> {
  return {
    title,
    align: 'right',
    // Steps are whole but for their mean.
    cell: (family) => formatNumber(family[of]?.[name] ?? null, of === 'steps' && name !== 'mean' ? 9 : 3),
  };
}

function formatFamilies(families: readonly FamilyResult[]): string[] {
  return formatTable<FamilyResult>(
    [
      { title: 'FAMILY', align: 'left', cell: ({ family }) => visibleText(family) },
      { title: 'TASKS', align: 'right', cell: ({ tasks }) => formatCount(tasks) },
      { title: 'VOID', align: 'right', cell: (family) => formatCount(family.void) },
      {
        title: 'SUCCESS',
        align: 'right',
        cell: (family) => {
          const valid = family.tasks - family.void;
          return formatRate(valid === 0 ? null : family.success / valid);
        },
      },
      spread('REWARD', 'reward', 'mean'),
      spread('P5', 'reward', 'p5'),
      spread('P50', 'reward', 'p50'),
      spread('P95', 'reward', 'p95'),
      spread('STEPS', 'steps', 'mean'),
      spread('P50', 'steps', 'p50'),
      spread('P95', 'steps', 'p95'),
      spread('MAX', 'steps', 'max'),
    ],
    families,
  );
}

type WorkerRow = BenchReport['workers'][number];

function measured(
  title: string,
  name: 'cores' | 'peakRssMiB' | 'emptyRssMiB' | 'slotKiB',
): Column<WorkerRow> {
  const digits = name === 'cores' ? 2 : 0;
  return { title, align: 'right', cell: (row) => row[name]?.toFixed(digits) ?? '–' };
}

function formatWorkers({ workers, runSide, asking }: BenchReport): string[] {
  return [
    ...formatTable<WorkerRow>(
      [
        { title: 'WORKER', align: 'left', cell: ({ worker }) => worker },
        { title: 'SLOTS', align: 'right', cell: ({ slots }) => formatCount(slots) },
        { title: 'TASKS', align: 'right', cell: ({ tasks }) => formatCount(tasks) },
        { title: 'STEPS', align: 'right', cell: ({ steps }) => formatCount(steps) },
        measured('CORES', 'cores'),
        measured('PEAK MIB', 'peakRssMiB'),
        measured('EMPTY MIB', 'emptyRssMiB'),
        measured('KIB A SLOT', 'slotKiB'),
      ],
      workers,
    ),
    `asked for ${formatNumber(asking.rows)} actions at a time, after ${formatNumber(asking.waitMs)} ms; slots without a task ${formatRate(asking.idleSlots)} of the time`,
    `the run side (this process): ${runSide.cores.toFixed(2)} cores, busy ${formatRate(runSide.busy)} of the time`,
  ];
}

function formatLimit({ timeShares, computing, measuredS }: BenchReport): string[] {
  if (timeShares === null) return ['limited by: not measured'];
  const [first, ...others] = rankShares(timeShares).filter(([, share]) => share >= 0.0005);
  if (first === undefined) return ['limited by: not measured'];
  const [name, share] = first;
  const rest = others.map(([other, part]) => `${LIMITS[other]} ${formatRate(part)}`).join('; ');
  return [
    ...(computing === null || computing >= COMPUTES
      ? []
      : [
          `note: of the time in which they were not idle, the workers had a core for ${formatRate(computing)}: ` +
            'the machine is busy with something else, or the environment blocks its worker',
        ]),
    ...(rest === '' ? [] : [`the rest of the workers' time: ${rest}`]),
    `limited by: ${LIMITS[name]}, ${formatRate(share)} of the workers' time${measuredS < ENOUGH_S ? `, of ${measuredS.toFixed(2)} s: too short to rely on` : ''}`,
  ];
}

function formatShare(count: number, all: number): string {
  return `${formatCount(count)} (${formatRate(all === 0 ? null : count / all)})`;
}

function formatSeconds(seconds: number): string {
  return `${seconds < 100 ? seconds.toFixed(1) : formatCount(seconds)} s`;
}
