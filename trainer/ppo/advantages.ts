type Numbers = Float32Array | readonly number[];

/** One episode's course: n steps. */
export interface EpisodeCourse {
  readonly rewards: Float32Array;
  /** The sampling policy's value estimates of the observations before each step. */
  readonly values: Float32Array;
  /** V(s_T): 0 when there is nothing to come, else the value of the observation after the last step. */
  readonly finalValue: number;
}

export interface Discounts {
  readonly gamma: number;
  readonly lambda: number;
}

/**
 * Generalised advantage estimates of one episode, written to `out` from `offset` on: Schulman et al. 2017 (PPO), equations
 * 11 and 12, with δ_t = r_t + γ V(s_{t+1}) − V(s_t) and V(s_T) as given.
 */
export function writeAdvantages(
  course: EpisodeCourse,
  { gamma, lambda }: Discounts,
  out: Float32Array,
  offset: number,
): void {
  const { rewards, values } = course;
  let next = course.finalValue;
  let advantage = 0;
  for (let t = rewards.length - 1; t >= 0; t--) {
    const value = values[t] ?? 0;
    const delta = (rewards[t] ?? 0) + gamma * next - value;
    advantage = delta + gamma * lambda * advantage;
    out[offset + t] = advantage;
    next = value;
  }
}

/** Values become (value − shift) · scale. */
export interface Scaling {
  readonly shift: number;
  readonly scale: number;
}

/** What gives values mean 0 and deviation 1: (A − mean) / (std + 1e-8), std unbiased as in PyTorch; one value becomes 0. */
export function standardScaling(values: Float32Array): Scaling {
  return { shift: meanOf(values), scale: 1 / (deviationOf(values) + 1e-8) };
}

/** Gives values mean 0 and deviation 1, in place. */
export function normalise(values: Float32Array): void {
  const { shift, scale } = standardScaling(values);
  for (let i = 0; i < values.length; i++) values[i] = ((values[i] ?? 0) - shift) * scale;
}

/** Unbiased, as in PyTorch: the root of Σ (value − mean)² / (n − 1); 0 for fewer than two values. */
export function deviationOf(values: Numbers): number {
  const count = values.length;
  return count > 1 ? Math.sqrt((varianceOf(values) * count) / (count - 1)) : 0;
}

/**
 * Share of the returns' variance that the values explain: 1 − Var(returns − values) / Var(returns); 0 when the returns do
 * not vary.
 */
export function explainedVariance(returns: Float32Array, values: Float32Array): number {
  const total = varianceOf(returns);
  if (total === 0) return 0;
  return 1 - varianceOf(returns.map((value, i) => value - (values[i] ?? 0))) / total;
}

function meanOf(values: Numbers): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / Math.max(1, values.length);
}

function varianceOf(values: Numbers): number {
  const mean = meanOf(values);
  let sum = 0;
  for (const value of values) sum += (value - mean) ** 2;
  return sum / Math.max(1, values.length);
}
