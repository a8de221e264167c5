import type { EpisodeSummary } from '../../src/domain/episode.ts';
import { formatNumber } from '../format.ts';
import { fit, type Line, type Segment, seg, untrusted } from '../line.ts';
import type { Look, Tone } from '../look.ts';

/** Agents of an episode take these in turn; names tell them apart where there is no colour. */
const TONES: readonly Tone[] = ['first', 'second', 'accent', 'mark'];
/** Columns of the longest name that a list shows whole. */
const MOST = 10;

type Agents = Pick<EpisodeSummary, 'agentRewards'>;

/** Columns for the names of an episode's agents in a list, with the blank behind them; 0 where it has one agent. */
export function agentColumns({ agentRewards }: Agents): number {
  if (agentRewards === undefined) return 0;
  const longest = Math.max(0, ...Object.keys(agentRewards).map((name) => untrusted(name).length));
  return Math.min(MOST, longest) + 1;
}

/** An agent's name in its tone. `width`: columns of a list, or as long as it is. */
export function agentName(name: string, agents: Agents, look: Look, width = untrusted(name).length): Segment {
  const place = Object.keys(agents.agentRewards ?? {}).indexOf(name);
  return seg(fit(untrusted(name), width, look), TONES[Math.max(0, place) % TONES.length] ?? 'plain');
}

/** What each agent was paid; nothing where the episode has one. */
export function agentPieces(agents: Agents, look: Look): Line[] {
  return Object.entries(agents.agentRewards ?? {}).map(
    ([name, paid]): Line => [agentName(name, agents, look), seg(` ${formatNumber(paid)}`)],
  );
}
