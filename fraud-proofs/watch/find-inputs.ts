/**
 * Inputs from the chain, where no file has them. The trace begins with the inputs: slot i is input i. So what is demanded
 * is, from the roots down, what leads to the elements of these slots; each answer opens the next demands, all of one depth at
 * once. Whether the slots are the inputs that inputRoot binds is seen from the roots alone.
 */
import type { Hex } from '../../receipts/types.js';
import { ROOT_HEIGHT, type GameNode } from '../../verifier-contracts/dispute-types.js';
import type { KnownClaim } from '../nodes/known-claim.js';
import type { SparseTree } from '../nodes/sparse-tree.js';
import { chunksNode, INPUTS, revealing, tensorNode, TRACE_ROOT } from '../nodes/places.js';
import { claimedSlot } from '../step/claimed-slot.js';
import type { StepModel } from '../step/step-model.js';
import { memoryElement } from '../step/sums.js';

/** Chunks of one demand. */
const GROUP = 64;

export type InputsFromChain =
  | { readonly kind: 'known'; readonly tensors: Int32Array[] }
  /** Slot and port hold different tensors, or a slot's tensor is not of the model's form. */
  | { readonly kind: 'bad'; readonly input: number; readonly what: 'binding' | 'header' }
  | { readonly kind: 'missing'; readonly nodes: readonly GameNode[] };

export function inputsFromChain(model: StepModel, known: KnownClaim): InputsFromChain {
  const { trace, inputs } = known;
  const roots: GameNode[] = [...(trace === null ? [TRACE_ROOT] : []), ...(inputs === null ? [INPUTS] : [])];
  if (trace === null || inputs === null) return { kind: 'missing', nodes: roots };
  const missing: GameNode[] = [];
  const tensors: Int32Array[] = [];
  for (let input = 0; input < model.header.inputs; input++) {
    const found = inputFromChain(model, known, input, inputs[input]);
    if (found.kind === 'bad') return found;
    if (found.kind === 'missing') missing.push(...found.nodes);
    else tensors.push(...found.tensors);
  }
  return missing.length > 0 ? { kind: 'missing', nodes: unique(missing) } : { kind: 'known', tensors };
}

function inputFromChain(model: StepModel, known: KnownClaim, input: number, root: Hex | undefined): InputsFromChain {
  const { trace } = known;
  const claimed = claimedSlot(model, known, input);
  if (claimed === null) {
    return { kind: 'missing', nodes: [nextAbove('trace', 0, input, trace!.tree)] };
  }
  if (claimed.root !== root) return { kind: 'bad', input, what: 'binding' };
  if (known.foreign.has(claimed.root)) return { kind: 'bad', input, what: 'header' };
  const { tensor } = claimed;
  if (tensor === null) return { kind: 'missing', nodes: [tensorNode(input)] };
  const { chunkCount } = tensor.header;
  const nodes: GameNode[] = [];
  for (let first = 0; first < chunkCount; first += GROUP) {
    const count = Math.min(GROUP, chunkCount - first);
    const there = (at: number): boolean => tensor.chunk(at) !== null;
    if (Array.from({ length: count }, (_, i) => first + i).every(there)) continue;
    const hash = tensor.hashes().get(0, first);
    nodes.push(hash === null ? nextAbove('tensor', input, first, tensor.hashes()) : chunksNode(input, first, count));
  }
  if (nodes.length > 0) return { kind: 'missing', nodes };
  const size = tensor.info.shape.reduce((product, side) => product * side, known.receipt.items);
  const data = new Int32Array(size);
  for (let position = 0; position < size; position++) data[memoryElement(tensor.info, position)] = tensor.at(position)!;
  return { kind: 'known', tensors: [data] };
}

/** The lowest known node above a leaf that is not known: its answer is the next step down. */
function nextAbove(kind: 'trace' | 'tensor', slot: number, leaf: number, tree: SparseTree): GameNode {
  let node = revealing(kind, slot, 0, leaf, tree.count);
  while (node.height !== ROOT_HEIGHT && tree.get(node.height, node.first) === null)
    node = revealing(kind, slot, node.height, node.first, tree.count);
  return node;
}

function unique(nodes: readonly GameNode[]): GameNode[] {
  return [...new Map(nodes.map((node) => [JSON.stringify(node), node])).values()];
}
