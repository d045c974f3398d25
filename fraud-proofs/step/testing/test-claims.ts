/** Models, receipts and claims for tests of disputes. */
import { makeBundle, type Bundle, type IntegerGraph } from '../../../graph/index.js';
import type { Hex, Receipt } from '../../../receipts/types.js';
import { FullTrace, portsRoot, traceRootOf } from '../../nodes/full-trace.js';
import { KnownTrace, type KnownClaim, type TraceLeaf } from '../../nodes/known-claim.js';
import type { KnownTensor } from '../../nodes/known-tensor.js';
import type { StepModel } from '../step-model.js';

/** A bundle around a graph that comes from no ONNX file. */
export function bundleOf(graph: IntegerGraph, committedSlots?: readonly number[]): Bundle {
  const port = (id: number) => {
    const { name, shape } = graph.tensors[id]!;
    return { name, type: 'float32' as const, shape: [1, ...shape], batched: true };
  };
  const none = { samples: 0, labelAgreement: null, maxAbsError: 0, meanAbsError: 0 };
  return makeBundle({
    graph,
    inputs: graph.inputs.map(port),
    outputs: graph.outputs.map(port),
    sourceHash: `0x${'00'.repeat(32)}`,
    report: {
      modelName: graph.name,
      opset: 0,
      parameters: 0,
      macs: 0,
      nodes: [],
      tensors: [],
      calibration: none,
      heldOut: null,
      tableRows: [],
      largestAccumulator: { tensor: graph.name, magnitude: 0 },
      warnings: [],
    },
    ...(committedSlots === undefined ? {} : { committedSlots }),
  });
}

export function receiptOf(model: StepModel, trace: FullTrace): Receipt {
  return {
    orderHash: `0x${'11'.repeat(32)}`,
    modelDigest: model.digest,
    ...trace.claimRoots(),
    items: trace.items,
    amount: 1n,
    lane: 'optimistic',
    policyHash: `0x${'22'.repeat(32)}`,
    executor: `0x${'33'.repeat(20)}`,
    issuedAt: 0,
  };
}

/** A claim over slots, known altogether. */
export function claimOf(
  model: StepModel,
  slots: readonly Int32Array[],
  items: number,
  segments: 'own' | 'unsaid' = 'own',
): KnownClaim {
  const trace = new FullTrace(model, slots, items);
  return trace.asClaim(receiptOf(model, trace), segments);
}

/** What a claim says instead of the truth. */
export interface Deviation {
  readonly opCount?: number;
  readonly leaves?: (right: readonly TraceLeaf[]) => TraceLeaf[];
  readonly inputs?: (right: readonly Hex[]) => Hex[];
  readonly outputs?: (right: readonly Hex[]) => Hex[];
  /** Tensors that its roots name beside those of the trace. */
  readonly tensors?: readonly KnownTensor[];
}

/** A claim that differs from a trace where no engine would: in counts, headers, ports. It is known altogether. */
export function deviantClaim(trace: FullTrace, { opCount, leaves, inputs, outputs, tensors }: Deviation): KnownClaim {
  const right = trace.trace().leaves as readonly TraceLeaf[];
  const told = leaves?.(right) ?? right;
  const known = new KnownTrace(told.length);
  told.forEach((leaf, position) => known.learnLeaf(position, leaf));
  const ports = [
    inputs?.(trace.inputRoots) ?? trace.inputRoots,
    outputs?.(trace.outputRoots) ?? trace.outputRoots,
  ] as const;
  const receipt: Receipt = {
    ...receiptOf(trace.model, trace),
    traceRoot: traceRootOf(known),
    inputRoot: portsRoot(0, ports[0]),
    outputRoot: portsRoot(1, ports[1]),
    opCount: opCount ?? trace.model.slotCount,
  };
  const claim = trace.asClaim(receipt, 'own');
  claim.trace = known;
  [claim.inputs, claim.outputs] = ports;
  for (const tensor of tensors ?? []) claim.tensors.set(tensor.root()!, tensor);
  return claim;
}
