import { errorText } from '../../src/domain/error.ts';
import type { Provider } from '../../src/domain/provider.ts';
import { createGraph } from '../graph/graph.ts';
import { toModel } from '../graph/onnx-file.ts';
import { matmul } from '../graph/ops.ts';
import { createSession, type Session, type SessionTensor } from '../session.ts';

/** Rows, inner length and columns of the matrix product that is tried. */
const SIZE = { rows: 256, inner: 256, columns: 256 };
const RUNS = 5;

/** What came of trying a provider: how long one run took in ms, the median of several, or why it does not work. */
export interface ProbeResult {
  readonly ms: number | null;
  readonly reason: string | null;
}

/**
 * Runs a product of two matrices of small whole numbers on a provider, with no op left to the CPU, and compares every number
 * with what it must be: exact in any float format.
 */
export async function probeProvider(provider: Provider): Promise<ProbeResult> {
  try {
    const g = createGraph();
    const x = g.input('x', 'f32', ['B', SIZE.inner]);
    const weights = g.constant(ramp(SIZE.inner * SIZE.columns), [SIZE.inner, SIZE.columns]);
    const session = await createSession(toModel({ product: matmul(g, x, weights) }), {
      threads: 1,
      providers: [provider],
      wholly: true,
    });
    const ms = await measure(session);
    await session.close();
    return ms === null ? { ms, reason: 'it computed wrong numbers' } : { ms, reason: null };
  } catch (thrown) {
    return { ms: null, reason: errorText(thrown).replace(/^provider \S+ cannot be used: /u, '') };
  }
}

/** Null when a number is wrong. */
async function measure(session: Session): Promise<number | null> {
  const { rows, inner } = SIZE;
  const x: SessionTensor = { dtype: 'f32', shape: [rows, inner], data: ramp(rows * inner) };
  const wanted = product();
  const times: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const started = performance.now();
    const { product: got } = await session.run({ x });
    times.push(performance.now() - started);
    if (got?.data.length !== wanted.length || wanted.some((value, at) => Number(got.data[at]) !== value)) {
      return null;
    }
  }
  return times.toSorted((left, right) => left - right)[Math.floor(RUNS / 2)] ?? 0;
}

/** -3 … 3, over and over. */
function ramp(length: number): Float32Array {
  return Float32Array.from({ length }, (_, at) => (at % 7) - 3);
}

function product(): Float32Array {
  const { rows, inner, columns } = SIZE;
  const left = ramp(rows * inner);
  const right = ramp(inner * columns);
  const out = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let k = 0; k < inner; k++) {
      const factor = left[row * inner + k] ?? 0;
      for (let column = 0; column < columns; column++) {
        const at = row * columns + column;
        out[at] = (out[at] ?? 0) + factor * (right[k * columns + column] ?? 0);
      }
    }
  }
  return out;
}
