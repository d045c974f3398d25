/** The thread that makes one joint proof, with an arithmetic of its own that ends with it. */
import { readFileSync } from 'node:fs';
import { decodeBundle } from '../../graph/bundle/codec.js';
import { buildProgram } from '../../prover/program/build-program.js';
import { ZkProver } from '../../prover/prover/zk-prover.js';
import { developmentSrs } from '../../prover/srs/development-cache.js';
import { decodeSrs } from '../../prover/srs/srs-file.js';
import { openArithmetic } from '../../prover/wasm/node-arithmetic.js';
import { serveTask } from '../run-apart.js';
import type { BatchPlace } from './joined.js';
import { proveJoint, type JointProof } from './prove-joint.js';

export interface JointTask {
  /** The development reference string of so many points, or a file. */
  readonly srs:
    { readonly kind: 'development'; readonly points: number } | { readonly kind: 'file'; readonly path: string };
  /** CPU threads; null: one per core. */
  readonly threads: number | null;
  readonly memoryBudgetBytes: number;
  readonly n: number;
  readonly groups: readonly {
    /** Encoded. */
    readonly bundle: Uint8Array;
    readonly receipts: number;
    readonly itemsPerReceipt: number;
    readonly jobs: readonly (readonly Int32Array[])[];
    readonly contexts: readonly Uint8Array[];
  }[];
  readonly place: BatchPlace;
}

serveTask<JointTask, JointProof>(async ({ srs, threads, memoryBudgetBytes, n, groups, place }) => {
  const arithmetic = await openArithmetic({
    maximumBytes: memoryBudgetBytes,
    ...(threads === null ? {} : { threads }),
  });
  try {
    const prover = new ZkProver({
      arithmetic,
      srs:
        srs.kind === 'development'
          ? developmentSrs(srs.points, { arithmetic })
          : decodeSrs(readFileSync(srs.path), srs.path),
    });
    const bundles = groups.map(({ bundle }, g) => decodeBundle(bundle, `group ${g}`));
    const shape = {
      n,
      groups: groups.map(({ receipts, itemsPerReceipt }, g) => ({
        program: buildProgram(bundles[g]!.graph).program,
        receipts,
        itemsPerReceipt,
      })),
    };
    return proveJoint(
      prover,
      shape,
      groups.map(({ jobs, contexts }, g) => ({ bundle: bundles[g]!, receipts: jobs, contexts })),
      place,
    );
  } finally {
    await arithmetic.close();
  }
});
