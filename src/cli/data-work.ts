export { archiveEndedRun } from './archive.ts';
export { exportEpisodesTo, exportMetricsTo } from './export-data.ts';
