/** What verbs do is loaded when one of them runs: help, the list of runs and the screen do not wait for it. */
export async function verbWork(): Promise<typeof import('./verb-work.ts')> {
  return await import('./verb-work.ts');
}

/** The same for what writes Parquet and other formats. */
export async function dataWork(): Promise<typeof import('./data-work.ts')> {
  return await import('./data-work.ts');
}
