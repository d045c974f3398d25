/** What proving a batch of a model will cost, before any of it is done. */
import { freemem } from 'node:os';
import { AssayError } from '../common/errors.js';
import type { Bundle } from '../graph/index.js';
import { predictJob, type ProofPrediction, type SchemeName } from '../prover/index.js';

/** What a memory of WebAssembly can hold. */
const MOST_WASM_BYTES = 2 ** 32 - 2 ** 16;

export type Provability =
  | { readonly provable: true; readonly prediction: ProofPrediction }
  | { readonly provable: false; readonly reason: string };

/** Whether the proof system has a form for the model and how large a proof of one item would be. */
export function provability(bundle: Bundle, items: number, scheme: SchemeName): Provability {
  try {
    return { provable: true, prediction: predictJob(bundle.graph, items, scheme) };
  } catch (error) {
    if (error instanceof AssayError && (error.code === 'NOT_PROVABLE' || error.code === 'PROOF_LIMITS'))
      return { provable: false, reason: error.message };
    throw error;
  }
}

export const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;

export const predictionText = ({ n, rounds, proofBytes, processBytes, singleThreadMs }: ProofPrediction): string =>
  `columns of 2^${n} cells, ${rounds} sumcheck rounds, a proof of ${proofBytes} bytes, ` +
  `about ${mebibytes(processBytes)} of memory and ${(singleThreadMs / 1000).toFixed(1)} s on one thread`;

/** @throws AssayError PROVER_MEMORY where the prediction is beyond this machine. */
export function checkFits({ memoryBytes }: ProofPrediction): void {
  const available = Math.min(freemem(), MOST_WASM_BYTES);
  if (memoryBytes > available)
    throw new AssayError(
      'PROVER_MEMORY',
      `the proof needs about ${mebibytes(memoryBytes)}, ${mebibytes(available)} are available`,
      {
        meta: { neededBytes: memoryBytes, availableBytes: available },
      },
    );
}
