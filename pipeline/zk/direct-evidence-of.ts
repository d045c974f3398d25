/** A verified proof as DirectVerifier.sol reads it. */
import { encodeDirectEvidence } from '../../prover/files/direct-evidence.js';
import type { EncodeEvidence } from '../ports.js';
import { orderBytes } from './check-proof.js';

/** @throws AssayError PROOF_LIMITS */
export const directEvidenceOf: EncodeEvidence = ({ key, graph, receipt, inputs, published, proof }) => {
  const portsOf = (ids: readonly number[]) => ids.map((id) => graph.tensors[id]!);
  return encodeDirectEvidence(
    { key: key.key, items: receipt.items, inputs, outputs: published },
    { inputs: portsOf(graph.inputs), outputs: portsOf(graph.outputs) },
    orderBytes(receipt.orderHash),
    proof,
  );
};
