import type { FacetView } from '../facet-desk.ts';
import type { KeyContext } from '../key-binding.ts';
import { planOverview, type Size } from '../layout.ts';
import { type Line, seg } from '../line.ts';
import type { RunSnapshot } from '../live-run.ts';
import { type Look, symbolsOf } from '../look.ts';
import type { Toast } from '../toast.ts';
import { drawFacetPanel } from '../widgets/facet-panel.ts';
import { drawEpisodePart, type EpisodePart } from '../widgets/filter-line.ts';
import { drawFooter, drawMessageRow } from '../widgets/footer.ts';
import { drawHeader } from '../widgets/header.ts';

/** Everything the screen of episodes shows. */
export interface EpisodesModel extends EpisodePart {
  readonly run: RunSnapshot;
  /** Null: not to be shown. */
  readonly facets: FacetView | null;
  readonly toast: Toast | null;
  readonly keys: KeyContext;
}

/** Message and keys. */
const BELOW = 2;
const PANEL_WIDTH = 38;
/** Columns from which on there is room for the panel beside the list. */
const PANEL_FROM = 120;

/** Rows of the list on a screen. */
export function episodesHeight(size: Size): number {
  const { header, listHead } = planOverview(size);
  return Math.max(1, size.rows - header - listHead - BELOW);
}

/** Whether there is room for the panel of counts. */
export function hasFacetPanel(size: Size): boolean {
  return size.columns >= PANEL_FROM;
}

/** The episode list over the whole height; on wide screens how its episodes are distributed, at its right. */
export function drawEpisodes(model: EpisodesModel, size: Size, look: Look): Line[] {
  const { run, facets, toast, keys, filterInput } = model;
  const width = size.columns;
  const { header, listHead: head } = planOverview(size);
  const rows = episodesHeight(size);
  const hasPanel = facets !== null && hasFacetPanel(size);
  const listWidth = hasPanel ? width - PANEL_WIDTH - 2 : width;
  const list = drawEpisodePart(model, listWidth, { head, rows }, look);
  const panel = hasPanel ? drawFacetPanel(facets, PANEL_WIDTH, head + rows, look) : [];
  return [
    ...drawHeader(run, width, header, look),
    ...list.map((line, row): Line => {
      const beside = panel[row];
      return beside === undefined ? line : [...line, seg(`${symbolsOf(look).bar} `, 'dim'), ...beside];
    }),
    drawMessageRow({ toast, event: run.events[0] ?? null, now: run.now }, width, look),
    drawFooter(filterInput === null ? 'episodes' : 'filter', keys, width, look),
  ];
}
