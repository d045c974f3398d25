/**
 * Step `prove` (zk lane): a prover makes the proof, tied to the order's hash. It is kept as it comes; what it shows is the
 * matter of the step `verify`, so that a prover is believed no more than an executor. Killed in between, the proof is
 * made again: provers have no randomness, so the bytes are the same.
 */
import { asAssayError, AssayError } from '../../common/errors.js';
import { failPoint } from '../fail-points.js';
import type { ProvedJob, ProverPort } from '../ports.js';
import { decodeValues, encodeValues } from '../store/values-file.js';
import type { Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import { schemeOf } from '../zk/check-proof.js';
import type { StageContext } from './context.js';
import { loadOrder } from './load-order.js';
import { within } from './within.js';

/** A prover that does not even end in this time is left to itself. */
const ABORT_TIMEOUT_MS = 5_000;

/** Jobs in hand, by prover: the step runs on as many jobs at once as there are provers, so that each has one. */
const inHand = new WeakMap<ProverPort, number>();

export async function proveOrder(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { database, store, bundles, clock, provers, proveTimeoutMs } = context;
  const { order, orderHash, inputFile } = await loadOrder(database, claim.subject);
  const bundle = await bundles.get(order.modelDigest);
  const inputs = decodeValues(await store.get(inputFile), inputFile);
  const prover = idlest(provers);
  inHand.set(prover, (inHand.get(prover) ?? 0) + 1);
  let proved: ProvedJob;
  try {
    failPoint('prove.before-prove');
    const work = prover.prove({ orderHash, bundle, items: order.items, inputs });
    proved = await within(work, proveTimeoutMs, `prover ${prover.name}`);
  } catch (error) {
    const why = proverError(prover, error);
    // It would be at that proof still when the next one comes.
    if (why.code === 'NODE_TIMEOUT')
      await within(prover.abort(), ABORT_TIMEOUT_MS, `prover ${prover.name}`).catch(() => undefined);
    throw why;
  } finally {
    inHand.set(prover, inHand.get(prover)! - 1);
  }
  failPoint('prove.after-prove');
  const scheme = schemeOrFailure(prover, proved.proof);
  const proofFile = await store.put(proved.proof);
  const publishedFile = await store.put(encodeValues(proved.published));
  failPoint('prove.after-store');
  return {
    kind: 'advance',
    next: 'verify',
    write: async (tx) => {
      await tx.execute(
        'INSERT INTO assay.proofs (order_hash, prover, scheme, proof_file, published_file, proved_at) VALUES ($1, $2, $3, $4, $5, $6)',
        [orderHash, prover.name, scheme, proofFile, publishedFile, clock()],
      );
    },
  };
}

function idlest(provers: readonly ProverPort[]): ProverPort {
  const [first, ...others] = provers;
  if (first === undefined) throw new AssayError('INTERNAL', 'A process without a prover is to prove an order.');
  const load = (prover: ProverPort): number => inHand.get(prover) ?? 0;
  return others.reduce((best, other) => (load(other) < load(best) ? other : best), first);
}

function schemeOrFailure(prover: ProverPort, proof: Uint8Array): string {
  try {
    return schemeOf(proof);
  } catch (error) {
    throw proverFailed(prover, asAssayError(error));
  }
}

/**
 * What a prover's failure means for an order that was taken in because the forecast of its proof fits: a memory that does
 * not hold it after all is as much the prover's fault as a defect.
 */
export function proverError(prover: Pick<ProverPort, 'name'>, error: unknown): AssayError {
  const why = asAssayError(error);
  return why.kind === 'internal' || why.code === 'PROVER_MEMORY' ? proverFailed(prover, why) : why;
}

const proverFailed = (prover: Pick<ProverPort, 'name'>, cause: AssayError): AssayError =>
  new AssayError('PROVER_FAILED', `Prover ${prover.name} failed: ${cause.message}`, {
    cause,
    meta: { prover: prover.name, code: cause.code },
  });
