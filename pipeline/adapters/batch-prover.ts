/** Recursive batches on this machine: joint proofs in a thread of their own, wrapped by snarkjs in a process of its own. */
import { hexToBytes } from '@noble/hashes/utils.js';
import { AssayError, asAssayError } from '../../common/errors.js';
import type { BatchCircuit } from '../../circuits/batch/batch-circuit.js';
import { wrapJoint } from '../../circuits/batch/batch-circuit.js';
import { encodeEvidence } from '../../circuits/batch/evidence.js';
import { batchInputRoot, programHashOf, programOf } from '../../circuits/batch/input-root.js';
import { proveJointApart } from '../../circuits/batch/prove-joint-apart.js';
import { claimedOutputRoot, verifyBatch } from '../../circuits/batch/verify-batch.js';
import type { BatchPlace } from '../../circuits/batch/joined.js';
import type { BatchGroupShape, BatchShape } from '../../circuits/batch/types.js';
import { encodeBundle, type Bundle } from '../../graph/index.js';
import type { OpeningKey } from '../../prover/opening/types.js';
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
  const shapes = circuits.map(({ circuit }) => circuit.shape);
  return {
    name,
    inputRootOf: (bundle, inputs, items) => {
      // One that waits for no other model: else the order might wait for one that never comes.
      const fits = shapes.some(
        ({ groups: [group, ...others] }) =>
          others.length === 0 && group!.itemsPerReceipt === items && isOf(group!, bundle),
      );
      return fits ? batchInputRoot(bundle.graph, inputs, items) : null;
    },
    choose: (waiting, overdue) => chooseCircuit(shapes, waiting, overdue),
    prove: async (index, jobs) => {
      const { circuit, place } = circuits[index]!;
      const { shape } = circuit;
      const groups = shape.groups.map((group) => {
        const own = jobs.filter(({ bundle }) => isOf(group, bundle));
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

/** Is the model one that the group proves? */
const isOf = ({ program }: BatchGroupShape, { graph }: Bundle): boolean =>
  programHashOf(program) === programHashOf(programOf(graph));

/**
 * The circuit that takes most of the orders: of each of its groups' models the first ones that wait, at least one. Models
 * with one program but different weights do not share a group, which proves one model.
 * @param overdue only circuits that take the first order
 */
export function chooseCircuit(
  shapes: readonly BatchShape[],
  waiting: readonly WaitingOrder[],
  overdue: boolean,
): BatchChoice | null {
  let best: BatchChoice | null = null;
  shapes.forEach(({ groups }, circuit) => {
    const orders = groups.map((group) => {
      const fitting = waiting.filter(({ bundle, items }) => items === group.itemsPerReceipt && isOf(group, bundle));
      return fitting.filter(({ bundle }) => bundle.digest === fitting[0]!.bundle.digest).slice(0, group.receipts);
    });
    if (orders.some(({ length }) => length === 0)) return;
    const choice = {
      circuit,
      orders: orders.flatMap((own) => own.map(({ orderHash }) => orderHash)),
      full: orders.every((own, g) => own.length === groups[g]!.receipts),
    };
    if (overdue && !choice.orders.includes(waiting[0]!.orderHash)) return;
    if (best === null || choice.orders.length > best.orders.length) best = choice;
  });
  return best;
}
