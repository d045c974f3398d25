/**
 * The self-test of one model on one GPU session, before its first job.
 *
 * The start-up self-test (self-test.ts) covers operator kinds, but a GPU library chooses its algorithm by shape, and no
 * fixed set of cases has the shapes of every model. So the model itself runs once on extreme inputs, and every slot
 * that its traces commit is compared with the reference, bit for bit. Engines on the CPU are spared: their kernels are covered by the tests of
 * this repository on the very versions that it pins, while GPU and driver are the machine's own.
 *
 *   1. As many patterns of extreme input as the reference can compute within MACS_LIMIT, at most all four; none: the
 *      test is skipped, and the report says so.
 *   2. One item at a time, so that the test needs no more memory than the smallest job.
 *   3. Any element that differs: ENGINE_NOT_EXACT, and the session is not used.
 */
import { AssayError } from '../common/errors.js';
import { graphReport } from '../graph/compile/graph-report.js';
import { committedTensors, evaluateGraph } from '../graph/index.js';
import type { Bundle } from '../graph/index.js';
import type { EngineName, ExactSession } from './engine.js';
import { countDiffering, extremeInputs, PATTERNS } from './extreme-inputs.js';

export type ModelTest =
  | { readonly kind: 'equal'; readonly items: number; readonly elements: number; readonly elapsedMs: number }
  /** Not tested: what one item costs, and what the reference may spend on the test. Multiply-accumulates. */
  | { readonly kind: 'skipped'; readonly reason: string; readonly macs: number; readonly limit: number };

/** Multiply-accumulates that the reference may spend on a model, once per load: 6 s at the 42 million a second measured. */
export const MACS_LIMIT = 2 ** 28;

/** The most telling first: scattered values leave no channel saturated. */
const BY_WORTH = [...PATTERNS].reverse();

/** Does the engine compute on a GPU? */
export function isGpu(engine: EngineName): boolean {
  return engine === 'onnxruntime-cuda' || engine === 'onnxruntime-webgpu' || engine === 'tfjs-node-gpu';
}

/**
 * @param limit multiply-accumulates that the reference may spend.
 * @throws AssayError ENGINE_NOT_EXACT where an element differs; what the session throws.
 */
export async function testModel(
  engine: EngineName,
  session: ExactSession,
  bundle: Bundle,
  limit = MACS_LIMIT,
): Promise<ModelTest> {
  const { graph } = bundle;
  const start = performance.now();
  // Counted here: the count in a bundle's report is its maker's word.
  const { macs } = graphReport(graph);
  const patterns = BY_WORTH.slice(0, Math.floor(limit / Math.max(1, macs)));
  if (patterns.length === 0) {
    const reason = `one item of model ${graph.name} takes ${macs} multiply-accumulates, the reference may spend ${limit}`;
    return { kind: 'skipped', reason, macs, limit };
  }
  let elements = 0;
  let differing = 0;
  for (const pattern of patterns) {
    const inputs = extremeInputs(graph, [pattern]);
    const values = evaluateGraph(graph, inputs, 1);
    const expected = committedTensors(graph, bundle.committedSlots).map((slot) => values[slot]!);
    elements += expected.reduce((sum, slot) => sum + slot.length, 0);
    differing += countDiffering(expected, await session.run(inputs, 1));
  }
  if (differing > 0) {
    throw new AssayError(
      'ENGINE_NOT_EXACT',
      `model ${graph.name} on ${engine}: ${differing} of ${elements} integers differ from the reference`,
      {
        mend: 'Run this model on another engine, for example --engine onnxruntime-cpu; update the GPU driver and try again.',
        meta: { engine, model: bundle.digest, elements, differing },
      },
    );
  }
  return { kind: 'equal', items: patterns.length, elements, elapsedMs: performance.now() - start };
}
