/** `640 ms`, `41 s`, `2.5 min`: a time in ms, as precise as one looks at a wait. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${(ms / 60_000).toFixed(1)} min`;
}

/** `5.2 s`: a time in ms. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** `93.5 %`: a share in [0, 1]. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** `3.0 MiB`: bytes that are compared with others in the same unit. */
export function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
