/** Recursive batches on this machine: joint proofs in a thread of their own, wrapped by snarkjs in a process of its own. */
import { hexToBytes } from '@noble/hashes/utils.js';
import { AssayError, asAssayError } from '../../common/errors.js';
import type { BatchCircuit } from '../../circuits/batch/batch-circuit.js';
import { wrapJoint } from '../../circuits/batch/batch-circuit.js';
import { encodeEvidence } from '../../circuits/batch/evidence.js';
import { batchInputRoot, programOf } from '../../circuits/batch/input-root.js';
import { proveJointApart } from '../../circuits/batch/prove-joint-apart.js';
import { claimedOutputRoot, verifyBatch } from '../../circuits/batch/verify-batch.js';
import type { BatchPlace } from '../../circuits/batch/joined.js';
import { encodeBundle, type Bundle } from '../../graph/index.js';
import type { OpeningKey } from '../../prover/opening/types.js';
import { programHash } from '../../prover/program/encode-program.js';
import type { BatchChoice, BatchJob, BatchProverPort, WaitingOrder } from '../ports.js';
import type { SrsSource } from './prover-messages.js';

/** A circuit and the number of its record in the contract. */
export interface PlacedCircuit {
  readonly circuit: BatchCircuit;
  readonly place: BatchPlace;
}

export interface BatchProverOptions {
  readonly srs: SrsSource;
  readonly openingKey: OpeningKey;
  /** In the order of the contract's records. */
  readonly circuits: readonly PlacedCircuit[];
  /** CPU threads of a joint proof. @default one per core */
  readonly threads?: number;
  /** Of the joint proof's arithmetic. @default 3 GiB */
  readonly memoryBudgetBytes?: number;
  /** @default 'batch prover' */
  readonly name?: string;
}

const DEFAULT_BUDGET_BYTES = 3 * 2 ** 30;

export function batchProver(options: BatchProverOptions): BatchProverPort {
  const { srs, openingKey, circuits, threads, name = 'batch prover' } = options;
  const { memoryBudgetBytes = DEFAULT_BUDGET_BYTES } = options;
  return {
    name,
    inputRootOf: (bundle, inputs, items) => {
      const fits = circuits.some(({ circuit }) =>
        circuit.shape.groups.some((group) => group.itemsPerReceipt === items && isOf(group.program, bundle)),
      );
      return fits ? batchInputRoot(bundle.graph, inputs, items) : null;
    },
    choose: (waiting) => chooseCircuit(circuits, waiting),
    prove: async (index, jobs) => {
      const { circuit, place } = circuits[index]!;
      const { shape } = circuit;
      const groups = shape.groups.map((group) => {
        const own = jobs.filter(({ bundle }) => isOf(group.program, bundle));
        return { group, own, contexts: own.map(({ orderHash }) => hexToBytes(orderHash.slice(2))) };
      });
      try {
        const joint = await proveJointApart({
          srs,
          threads: threads ?? null,
          memoryBudgetBytes,
          n: shape.n,
          groups: groups.map(({ group: { receipts, itemsPerReceipt }, own, contexts }) => ({
            bundle: encodeBundle(own[0]!.bundle),
            receipts,
            itemsPerReceipt,
            jobs: own.map(({ inputs }) => inputs),
            contexts,
          })),
          place,
        });
        const { proof } = await wrapJoint(circuit, joint);
        const evidence = encodeEvidence(index, shape, joint, proof, groups);
        const claims = verifyBatch({ shape, key: circuit.verificationKey, openingKey, place, record: index }, evidence);
        requireOutputs(
          groups.flatMap(({ own }, g) => own.map((job) => ({ job, group: g }))),
          (at, g, { bundle }) => claimedOutputRoot(shape, g, bundle.graph, claims[at]!),
        );
        return evidence;
      } catch (error) {
        const { code, message } = asAssayError(error);
        if (code === 'PROOF_INVALID') throw error;
        throw new AssayError('PROVER_FAILED', `Prover ${name} failed: ${message}`, {
          cause: error,
          meta: { prover: name, code },
        });
      }
    },
  };
}

function requireOutputs(
  jobs: readonly { readonly job: BatchJob; readonly group: number }[],
  rootOf: (index: number, group: number, job: BatchJob) => string,
): void {
  jobs.forEach(({ job, group }, at) => {
    if (rootOf(at, group, job) !== job.outputRoot)
      throw new AssayError(
        'PROOF_INVALID',
        `the batch shows another output for order ${job.orderHash} than its receipt`,
      );
  });
}

/** Programs of bundles by hash, and of circuits' groups. */
const isOf = (program: Parameters<typeof programHash>[0], { graph }: Bundle): boolean => {
  const [a, b] = [programHash(program), programHash(programOf(graph))];
  return a.every((byte, i) => byte === b[i]);
};

/**
 * The circuit that takes most of the orders, the first ones of each model, every group at least one. Models with one
 * program but different weights do not share a group, which proves one model.
 */
export function chooseCircuit(
  circuits: readonly PlacedCircuit[],
  waiting: readonly WaitingOrder[],
): BatchChoice | null {
  let best: BatchChoice | null = null;
  circuits.forEach(({ circuit: { shape } }, index) => {
    const orders = shape.groups.map(({ program, receipts, itemsPerReceipt }) => {
      const fitting = waiting.filter(({ bundle, items }) => items === itemsPerReceipt && isOf(program, bundle));
      return fitting.filter(({ bundle }) => bundle.digest === fitting[0]!.bundle.digest).slice(0, receipts);
    });
    if (orders.some(({ length }) => length === 0)) return;
    const choice = {
      circuit: index,
      orders: orders.flatMap((own) => own.map(({ orderHash }) => orderHash)),
      full: orders.every((own, g) => own.length === shape.groups[g]!.receipts),
    };
    if (best === null || choice.orders.length > best.orders.length) best = choice;
  });
  return best;
}
