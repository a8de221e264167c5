import { type AlertRule, readLimit } from '../domain/alert.ts';
import { errorWithHint, LabError } from '../domain/error.ts';
import { parseFilter } from '../store/filter.ts';
import type { FilterNode, FilterTerm } from '../store/filter-tree.ts';
import type { Problem } from './budgets.ts';

/** What cannot work in the alerts of a config. */
export function alertProblems(rules: readonly AlertRule[]): Problem[] {
  const seen = new Map<string, number>();
  return rules.flatMap((rule, index) => {
    const earlier = seen.get(rule.name);
    seen.set(rule.name, index);
    const problems = ruleProblems(rule).map(({ path, message }) => ({
      path: ['alerts', index, ...path],
      message,
    }));
    if (earlier === undefined) return problems;
    const message = `"${rule.name}" is already the name of alerts.${earlier}`;
    return [{ path: ['alerts', index, 'name'], message }, ...problems];
  });
}

function ruleProblems(rule: AlertRule): Problem[] {
  const { filter, metric, above, below, last, withinS } = rule;
  const problems: Problem[] = [];
  const add = (key: keyof AlertRule | null, message: string): void => {
    problems.push({ path: key === null ? [] : [key], message });
  };
  if (filter === undefined && metric === undefined) add(null, 'watches nothing: wanted filter or metric');
  if (filter !== undefined && metric !== undefined)
    add('metric', 'given beside filter: wanted one of them; two alerts watch both');
  if (above === undefined && below === undefined)
    add(null, 'has no limit: wanted above or below, a number or a share as 30%');
  if (above !== undefined && below !== undefined)
    add('below', 'given beside above: wanted one of them; two alerts watch both');
  if (last !== undefined && withinS !== undefined) add('withinS', 'given beside last: wanted one of them');
  problems.push(...(metric === undefined ? episodeProblems(rule) : metricProblems(rule)));
  return problems;
}

function metricProblems({ among }: AlertRule): Problem[] {
  if (among === undefined) return [];
  return [{ path: ['among'], message: 'says which episodes, and a metric is of iterations: wanted filter' }];
}

function episodeProblems(rule: AlertRule): Problem[] {
  const problems: Problem[] = [];
  const { filter, above, below, last, withinS } = rule;
  if (filter !== undefined && last === undefined && withinS === undefined) {
    problems.push({
      path: [],
      message: 'looks back over nothing: wanted last, of so many episodes, or withinS, of so many seconds',
    });
  }
  for (const key of ['filter', 'among'] as const) {
    const message = filterProblem(rule[key]);
    if (message !== null) problems.push({ path: [key], message });
  }
  for (const [key, limit] of [['above', above] as const, ['below', below] as const]) {
    const message = limit === undefined || filter === undefined ? null : limitProblem(key, limit, last);
    if (message !== null) problems.push({ path: [key], message });
  }
  return problems;
}

/** A limit on the wrong side of everything that can be. */
function limitProblem(
  key: 'above' | 'below',
  limit: number | string,
  last: number | undefined,
): string | null {
  const { value, isShare } = readLimit(limit);
  const most = isShare ? 1 : (last ?? Number.POSITIVE_INFINITY);
  const never = key === 'above' ? value >= most : value <= 0;
  if (!never) return null;
  const what = isShare ? 'a share' : last === undefined ? 'a count' : `a count of ${last} episodes`;
  const looksLikeShare = !isShare && value > 0 && value < 1;
  return `${limit}: ${what} is never ${key} that${looksLikeShare ? '; a share is written as 30%' : ''}`;
}

function filterProblem(text: string | undefined): string | null {
  if (text === undefined) return null;
  try {
    const { where, sort } = parseFilter(text);
    if (sort.field !== 'id' || !sort.descending) return `"${text}": an alert has no order; wanted no sort:`;
    return termProblem(text, where);
  } catch (thrown) {
    if (!(thrown instanceof LabError)) throw thrown;
    if (/(?:^|[\s(-])@[\w-]/u.test(text)) {
      return `"${text}": a saved filter may change under the run; wanted what it stands for (agentrl-lab filter ls)`;
    }
    return errorWithHint(thrown);
  }
}

function termProblem(text: string, node: FilterNode): string | null {
  if (node.kind === 'all' || node.kind === 'any') {
    for (const part of node.parts) {
      const problem = termProblem(text, part);
      if (problem !== null) return problem;
    }
    return null;
  }
  if (node.kind === 'not') return termProblem(text, node.part);
  return refusedTerm(text, node);
}

function refusedTerm(text: string, term: FilterTerm): string | null {
  if (term.kind === 'text') {
    return `"${text}": "${term.text}" is looked for in an episode's steps, which are not read while it is stored; wanted detail: (a part of what is said of a failure), or fields`;
  }
  if ('field' in term && term.field === 'age') {
    return `"${text}": every episode is new when it is stored; wanted withinS`;
  }
  return null;
}
