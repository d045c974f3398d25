/**
 * How much memory a session will hold, predicted before anything is loaded. Upper estimates: the session cache
 * refuses by them, so a number that is too small would let the process run out of memory.
 */
import { HASHING_BYTES_PER_ELEMENT } from '../graph/commitment/wasm/trace-hasher.js';
import { sizeOf } from '../graph/index.js';
import type { IntegerGraph, IntegerNode } from '../graph/index.js';

/**
 * What an engine holds for any session at all, whatever the model: graph structures, scratch, and the step by which
 * WebAssembly memory grows. Bytes. Twice what one session was seen to add by itself: 2^24 fell short by 0.7 MB once, on
 * tfjs-wasm on a loaded machine.
 */
const SESSION_BASE_BYTES = 2 ** 25;

/**
 * A weight is held up to four times as float32 while a session is made: in the exported file and its serialised copy, in
 * the runtime's initializer and in the copy packed for the matrix kernel. Measured: 15.3 bytes at the peak for a
 * matrix of 2048 x 4096 on onnxruntime.
 */
const BYTES_PER_CONSTANT = 16;

/**
 * float32 as computed, float64 while it is requantised, int32 as it is returned, and what the allocator keeps between
 * runs. Measured at the peak: 21.6 bytes for LeNet-5 on 1,000 items. And int32 once more while a trace is hashed.
 */
const BYTES_PER_ACTIVATION = 24 + HASHING_BYTES_PER_ELEMENT;

/** Bytes that an exact session of the graph holds after a run on `items` items. */
export function predictExactBytes(graph: IntegerGraph, items = 1): number {
  const constants = graph.nodes.reduce((sum, node) => sum + constantElements(node), 0);
  const activations = graph.tensors.reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  return SESSION_BASE_BYTES + constants * BYTES_PER_CONSTANT + activations * items * BYTES_PER_ACTIVATION;
}

/** Bytes that a float session holds: the file, the runtime's copy of it, and the packed copy of its weights. */
export function predictFloatBytes(bytes: Uint8Array): number {
  return SESSION_BASE_BYTES + bytes.length * 3;
}

function constantElements(node: IntegerNode): number {
  switch (node.kind) {
    case 'matmul':
    case 'conv':
      return node.weight.length + (node.bias?.length ?? 0);
    case 'combine':
      return node.bias?.data.length ?? 0;
    case 'scale':
      return node.factor.data.length + (node.bias?.data.length ?? 0);
    case 'requant':
      return node.multipliers.length * 2 + (node.table.kind === 'values' ? node.table.values.length : 0);
    default:
      return 0;
  }
}
