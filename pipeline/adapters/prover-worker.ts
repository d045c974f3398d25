/**
 * The thread that proves, with an arithmetic of its own: proving computes for seconds in the thread that calls it, and
 * WebAssembly memory that has grown is given back only with the thread. One request at a time.
 */
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { asAssayError, AssayError } from '../../common/errors.js';
import { decodeBundle, type Bundle } from '../../graph/index.js';
import { ZkProver } from '../../prover/prover/zk-prover.js';
import { developmentSrs } from '../../prover/srs/development-cache.js';
import { decodeSrs } from '../../prover/srs/srs-file.js';
import { srsSize, type Srs } from '../../prover/srs/srs.js';
import type { Arithmetic } from '../../prover/wasm/arithmetic.js';
import { openArithmetic } from '../../prover/wasm/node-arithmetic.js';
import type { PlainError, ProverReply, ProverRequest, ProverSettings, ProverStart } from './prover-messages.js';

const plain = (error: unknown): PlainError => asAssayError(error).toJSON();

function loadSrs({ srs }: ProverSettings, arithmetic: Arithmetic): Srs {
  return srs.kind === 'development'
    ? developmentSrs(srs.points, { arithmetic })
    : decodeSrs(readFileSync(srs.path), srs.path);
}

/** This machine may be slower or busier than the one that the prover's own forecast is measured on. */
const SLOWER = 3;

/** Bundles kept; the node sends one that is not there again. */
const MOST_BUNDLES = 32;

/** Answers all requests but the last. */
class ProverWorker {
  private readonly bundles = new Map<string, Bundle>();

  constructor(private readonly prover: ZkProver) {}

  answer(request: Exclude<ProverRequest, { kind: 'close' }>): ProverReply {
    const { id } = request;
    try {
      const bundle = this.bundleOf(request.digest, request.bundle);
      if (bundle === null) return { id, kind: 'bundleWanted' };
      switch (request.kind) {
        case 'predict': {
          const { rounds, proofBytes, memoryBytes, srsPoints, singleThreadMs } = this.prover.predict([
            { bundle, items: request.items },
          ]);
          const proveMs = SLOWER * singleThreadMs;
          return { id, kind: 'predicted', forecast: { rounds, proofBytes, memoryBytes, srsPoints, proveMs } };
        }
        case 'key':
          return { id, kind: 'key', key: this.prover.keyOf(bundle) };
        case 'prove': {
          const { items, inputs, bound } = request;
          const { statement, proof } = this.prover.prove([{ bundle, items, inputs }], bound);
          const { key, outputs } = statement.groups[0]!;
          return { id, kind: 'proved', key, proof, published: outputs };
        }
      }
    } catch (error) {
      return { id, kind: 'failed', error: plain(error) };
    }
  }

  private bundleOf(digest: string, bytes: Uint8Array | null): Bundle | null {
    const bundle = bytes === null ? this.bundles.get(digest) : decodeBundle(bytes, digest);
    if (bundle === undefined) return null;
    if (bundle.digest !== digest)
      throw new AssayError('INTERNAL', `the bundle ${bundle.digest} came under the digest ${digest}`);
    // Last in the map's order: the first is the one that was not used for longest.
    this.bundles.delete(digest);
    this.bundles.set(digest, bundle);
    if (this.bundles.size > MOST_BUNDLES) this.bundles.delete(this.bundles.keys().next().value!);
    return bundle;
  }
}

async function main(): Promise<void> {
  const port = parentPort!;
  const settings = workerData as ProverSettings;
  let arithmetic: Arithmetic;
  let worker: ProverWorker;
  try {
    arithmetic = await openArithmetic({
      maximumBytes: settings.memoryBudgetBytes,
      ...(settings.threads === null ? {} : { threads: settings.threads }),
    });
    const srs = loadSrs(settings, arithmetic);
    const prover = new ZkProver({ arithmetic, srs });
    prover.warmUp();
    worker = new ProverWorker(prover);
    const { tauG1, tauG2 } = srs;
    const freeBytes = settings.memoryBudgetBytes - arithmetic.memory.usedBytes;
    port.postMessage({
      kind: 'ready',
      srs: { tauG1: tauG1.slice(), tauG2: tauG2.slice() },
      srsPoints: srsSize(srs),
      freeBytes,
    } satisfies ProverStart);
  } catch (error) {
    port.postMessage({ kind: 'failed', error: plain(error) } satisfies ProverStart);
    port.close();
    return;
  }
  port.on('message', (request: ProverRequest) => {
    if (request.kind !== 'close') return port.postMessage(worker.answer(request));
    void arithmetic.close().finally(() => {
      port.postMessage({ id: request.id, kind: 'closed' } satisfies ProverReply);
      port.close();
    });
  });
}

await main();
