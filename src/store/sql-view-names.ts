/** The documented views of a run in SQL. */
export const VIEW_NAMES = [
  'episodes',
  'agents',
  'components',
  'tools',
  'observations',
  'iterations',
  'evaluations',
  'evaluations_by_family',
  'events',
  'knob_changes',
] as const;
export type ViewName = (typeof VIEW_NAMES)[number];
