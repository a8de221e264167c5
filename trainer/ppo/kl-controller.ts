import { KNOBS } from '../../src/domain/knob.ts';
import type { KlEstimator } from '../../src/domain/trainer-options.ts';

/** The band around the target within which the coefficient stays, and the factor by which it moves outside it. */
const STEP = 1.5;

/** Of what a minibatch or an update says of itself: the KL that is held against limits and the target. */
export function klOf(
  metrics: Readonly<Record<'kl' | 'klK1' | 'klK3', number>>,
  estimator: KlEstimator,
): number {
  return { exact: metrics.kl, k1: metrics.klK1, k3: metrics.klK3 }[estimator];
}

/**
 * The KL coefficient for the next update, after one with the given mean KL: × 1.5 when the KL is above 1.5 × the target,
 * ÷ 1.5 when it is below target ÷ 1.5, within the knob's range. The factor does not depend on the batch size, so it
 * cannot turn negative as value *= 1 + error · n / horizon does for large batches. A target of 0, and a KL that is no
 * number, leave it as it is.
 */
export function nextKlCoefficient(coefficient: number, kl: number, target: number): number {
  if (target <= 0 || !Number.isFinite(kl)) return coefficient;
  const factor = kl > target * STEP ? STEP : kl < target / STEP ? 1 / STEP : 1;
  const { minimum, maximum } = KNOBS.kl;
  return Math.min(maximum, Math.max(minimum, coefficient * factor));
}
