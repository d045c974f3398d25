/** A trace of which every slot is at hand: an executor's own, a watcher's, or one that was served. */
import { Preimage, toHex } from '../../graph/commitment/encoding.js';
import { TAG } from '../../graph/commitment/tags.js';
import type { Hex, Receipt } from '../../receipts/types.js';
import type { GameNode } from '../../verifier-contracts/dispute-types.js';
import type { StepModel } from '../step/step-model.js';
import { KnownClaim, KnownTrace, portLeafHash } from './known-claim.js';
import { KnownTensor } from './known-tensor.js';
import { SparseTree } from './sparse-tree.js';

/** What a receipt says of an execution. */
export type ClaimRoots = Pick<Receipt, 'inputRoot' | 'outputRoot' | 'traceRoot' | 'opCount'>;

/** Root of a job's inputs (role 0) or outputs (1) from their tensor roots. */
export const portsRoot = (role: 0 | 1, roots: readonly Hex[]): Hex => {
  const tree = SparseTree.of(
    TAG.portNode,
    roots.map((root, i) => portLeafHash(role, i, root)),
  );
  return toHex(new Preimage().u8(TAG.portRoot).u8(role).u32(roots.length).raw(tree.value()!).hash()) as Hex;
};

export class FullTrace {
  private readonly tensors: (KnownTensor | undefined)[] = [];
  private readonly roots: (Hex | undefined)[] = [];
  private known: KnownTrace | null = null;
  private readonly outputTensors: readonly KnownTensor[] | null;

  /**
   * @param slots one array per slot, in memory order. Elements may lie outside their range, as a cheat's may; they must fit
   * their encoding.
   * @param outputs where a cheat states other outputs than his trace holds.
   */
  constructor(
    readonly model: StepModel,
    readonly slots: readonly Int32Array[],
    readonly items: number,
    outputs?: readonly Int32Array[],
  ) {
    const tensorOf = (data: Int32Array, i: number): KnownTensor =>
      KnownTensor.of(model.infoOfSlot(model.outputs[i]!.slot), data, items);
    this.outputTensors = outputs?.map(tensorOf) ?? null;
  }

  /** The same with another tensor in one slot; what is known of the others is shared. */
  withSlot(slot: number, data: Int32Array): FullTrace {
    const trace = new FullTrace(this.model, this.slots.with(slot, data), this.items);
    this.slots.forEach((_, i) => {
      if (i === slot) return;
      trace.roots[i] = this.root(i);
      trace.tensors[i] = this.tensor(i);
    });
    return trace;
  }

  /** False where there are only the first slots, the inputs: then the other roots cannot be asked for. */
  get complete(): boolean {
    return this.slots.length === this.model.slotCount;
  }

  tensor(slot: number): KnownTensor {
    return (this.tensors[slot] ??= KnownTensor.of(this.model.infoOfSlot(slot), this.slots[slot]!, this.items));
  }

  root(slot: number): Hex {
    return (this.roots[slot] ??= this.tensor(slot).root()!);
  }

  get inputRoots(): Hex[] {
    return this.model.model.graph.inputs.map((_, i) => this.root(i));
  }

  get outputRoots(): Hex[] {
    return this.model.outputs.map(({ slot }, i) => this.outputTensors?.[i]!.root() ?? this.root(slot));
  }

  trace(): KnownTrace {
    if (this.known === null) {
      const { committed } = this.model;
      const trace = new KnownTrace(committed.length);
      committed.forEach((slot, position) => trace.learnLeaf(position, { slot, root: this.root(slot) }));
      this.known = trace;
    }
    return this.known;
  }

  inputRoot(): Hex {
    return portsRoot(0, this.inputRoots);
  }

  claimRoots(): ClaimRoots {
    return {
      inputRoot: this.inputRoot(),
      outputRoot: portsRoot(1, this.outputRoots),
      traceRoot: traceRootOf(this.trace()),
      opCount: this.model.slotCount,
    };
  }

  /** The tensor roots between two committed slots. */
  segment(k: number): { readonly node: GameNode; readonly roots: Hex[] } {
    const { first, count } = this.model.segment(k);
    const node: GameNode = { kind: 'segment', slot: k, height: 0, first, count };
    return { node, roots: Array.from({ length: count }, (_, i) => this.root(first + i)) };
  }

  /**
   * A claim that is known altogether. Its executor knows his segments, too; to others they are what he has said of them.
   * @param receipt its roots are those of this trace.
   */
  asClaim(receipt: Receipt, segments: 'own' | 'unsaid'): KnownClaim {
    const claim = new KnownClaim(receipt);
    claim.trace = this.trace();
    claim.inputs = this.inputRoots;
    claim.outputs = this.outputRoots;
    this.slots.forEach((_, slot) => claim.tensors.set(this.root(slot), this.tensor(slot)));
    if (segments === 'own')
      for (let k = 0; k + 1 < this.model.committed.length; k++)
        if (this.model.segment(k).count > 0) claim.segments.set(k, this.segment(k));
    return claim;
  }
}

/** traceRoot of a trace whose tree is known. */
export const traceRootOf = ({ slotCount, tree }: KnownTrace): Hex =>
  toHex(new Preimage().u8(TAG.traceRoot).u32(slotCount).raw(tree.value()!).hash()) as Hex;
