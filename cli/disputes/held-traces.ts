/** Traces from an executor's folder, as whoever answers and whoever serves wants them. */
import { TraceStore } from '../../executor/index.js';
import { AssayError } from '../../common/errors.js';
import { committedTensors, type Bundle } from '../../graph/index.js';
import type { ServedFiles } from '../../fraud-proofs/answer/serve-traces.js';
import { FullTrace } from '../../fraud-proofs/nodes/full-trace.js';
import { StepModel } from '../../fraud-proofs/step/step-model.js';
import type { Engine, Models } from '../../fraud-proofs/watch/sources.js';
import { encodeTensors } from '../../fraud-proofs/watch/tensor-file.js';
import type { ClaimSeen, World } from '../../fraud-proofs/watch/world.js';
import type { Hex, Receipt } from '../../receipts/types.js';

interface Stored {
  readonly bundle: Bundle;
  readonly tensors: readonly Int32Array[];
  readonly items: number;
}

export class HeldTraces {
  readonly #store: TraceStore;
  readonly #models = new Map<Hex, StepModel>();
  /** Receipts of open claims: they say which files there may be, and of which model each is. */
  #receipts: readonly Receipt[] = [];

  /** @param engine gives the slots that a trace leaves out */
  constructor(
    folder: string,
    private readonly bundles: Models,
    private readonly engine: Engine,
  ) {
    this.#store = new TraceStore(folder);
  }

  /** What may be asked for from now on. */
  lookAt({ claims }: World): void {
    this.#receipts = claims.map(({ claim }) => claim.receipt);
  }

  /** Null where it is not held. @throws AssayError TRACE_CORRUPT, BUNDLE_MISSING */
  async traceOf({ claim: { receipt } }: Pick<ClaimSeen, 'claim'>): Promise<FullTrace | null> {
    const stored = await this.#stored(receipt);
    if (stored === null) return null;
    const { bundle, tensors, items } = stored;
    let model = this.#models.get(receipt.modelDigest);
    if (model === undefined) {
      model = new StepModel(bundle);
      this.#models.set(receipt.modelDigest, model);
    }
    if (!model.hasBoundaries) return new FullTrace(model, tensors, items);
    // Between boundaries nothing is stored: it is computed again. The boundaries are those that were committed.
    const slots = [...(await this.engine(bundle, tensors.slice(0, bundle.graph.inputs.length), items))];
    model.committed.forEach((slot, position) => (slots[slot] = tensors[position]!));
    return new FullTrace(model, slots, items);
  }

  /** Is the trace of a receipt kept, and whole? @throws AssayError TRACE_CORRUPT, BUNDLE_MISSING */
  async holds(receipt: Receipt): Promise<boolean> {
    return (await this.#stored(receipt)) !== null;
  }

  readonly served: ServedFiles = async (kind, root) => {
    const receipt = this.#receipts.find((one) => (kind === 'traces' ? one.traceRoot : one.inputRoot) === root);
    const stored = receipt === undefined ? null : await this.#stored(receipt);
    if (stored === null) return null;
    const { bundle, tensors, items } = stored;
    const { graph, committedSlots } = bundle;
    const ids = kind === 'traces' ? committedTensors(graph, committedSlots) : graph.inputs;
    // A trace begins with the inputs, and commits each of them.
    return encodeTensors(
      ids.map((id) => graph.tensors[id]!),
      tensors.slice(0, ids.length),
      items,
    );
  };

  async #stored({ modelDigest, traceRoot }: Receipt): Promise<Stored | null> {
    const bundle = await this.bundles(modelDigest);
    if (bundle === null) throw new AssayError('BUNDLE_MISSING', `no bundle with digest ${modelDigest} is at hand`);
    if (!(await this.#store.has('trace', traceRoot))) return null;
    return { bundle, ...(await this.#store.get('trace', traceRoot, bundle)) };
  }
}
