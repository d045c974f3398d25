/**
 * What a stranger brings to `verifyReceipt` for a receipt of the zk lane: the key of its model, the head of the reference
 * string that the key names, and the bundle where he has it.
 *
 * Roots. A tensor's root covers its shape and the order of axes in which it was hashed (its layout). The bundle fixes
 * both; a key fixes shapes and ranges alone, so that without the bundle every possible order is tried, of inputs and
 * outputs apart. That costs no soundness: the root binds the order, and under whichever one it holds it holds the same
 * integers. Where there are too many orders to try, the root is undetermined.
 */
import { hexToBytes } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import { inputRoot, outputRoot, type Bundle, type IntegerGraph, type TensorInfo } from '../../graph/index.js';
import type { Program } from '../../prover/program/types.js';
import { requireProductionSrs } from '../../prover/srs/require-production-srs.js';
import { modelKeyDigest, type ModelKeyFile } from '../../prover/verifier/index.js';
import type { Hex, RootOf, VerifyReceiptOptions, ZkProofAnswer, ZkProofQuestion } from '../../receipts/index.js';
import { checkOrderProof, schemeOf } from './check-proof.js';
import { inputRootOf } from './input-root-of.js';

/**
 * The options of `verifyReceipt` that need the model. A key under the development reference string counts where the
 * receipt is for the local development chain; a reader who does not ask a chain for its id has to refuse such a key.
 * @param key as the file that `assay key` writes has it
 * @param bundle of that model, with or without the key in its identity, where the reader has it
 */
export function readerChecks(
  key: ModelKeyFile,
  bundle?: Pick<Bundle, 'graph'>,
): Required<Pick<VerifyReceiptOptions, 'modelDigest' | 'zkProof' | 'inputRoot' | 'outputRoot'>> {
  const { program, roots } = key.key;
  const graphs = bundle === undefined ? portGraphs(program) : { inputs: [bundle.graph], outputs: [bundle.graph] };
  return {
    modelDigest: modelKeyDigest(key.key) as Hex,
    inputRoot: bundle === undefined ? firstThatFits(graphs.inputs, inputRoot) : inputRootOf(bundle.graph),
    outputRoot: firstThatFits(graphs.outputs, outputRoot),
    zkProof: ({ receipt, domain, evidence, inputs, outputs }: ZkProofQuestion): ZkProofAnswer => {
      const derived = program.outputs.some(({ argMaxAxis }) => argMaxAxis !== null);
      const published = evidence.published ?? (derived ? undefined : outputs);
      if (published === undefined)
        return { verdict: 'undetermined', reason: 'the file does not carry the integers that the proof publishes' };
      const slots = roots.opCount + program.inputs.length;
      if (receipt.opCount !== slots)
        return {
          verdict: 'invalid',
          reason: `opCount: the model has ${slots} slots, the receipt says ${receipt.opCount}`,
        };
      const proof = hexToBytes(evidence.proof.slice(2));
      const scheme = schemeOrNull(proof);
      if (scheme !== evidence.scheme)
        return {
          verdict: 'invalid',
          reason: `the proof is of scheme ${scheme ?? 'unknown'}, the file says ${evidence.scheme}`,
        };
      const shown = checkOrderProof(key, { ...receipt, inputs: integers(inputs) }, proof, integers(published));
      if (shown.verdict === 'invalid') return shown;
      const development = developmentRefusal(key.key.srsId, domain.chainId);
      // Whoever made it may have known the secret: it neither shows this output nor another one.
      if (development !== null) return { verdict: 'undetermined', reason: development };
      return { outputs: shown.outputs.map((values) => Array.from(values)) };
    },
  };
}

function schemeOrNull(proof: Uint8Array): ReturnType<typeof schemeOf> | null {
  try {
    return schemeOf(proof);
  } catch (error) {
    if (error instanceof AssayError && error.code === 'PROOF_INVALID') return null;
    throw error;
  }
}

function developmentRefusal(srsId: Uint8Array, chainId: bigint): string | null {
  try {
    requireProductionSrs(srsId, chainId);
    return null;
  } catch (error) {
    if (error instanceof AssayError && error.code === 'SRS_DEVELOPMENT') return error.message;
    throw error;
  }
}

const integers = (tensors: readonly (readonly number[])[]): Int32Array[] =>
  tensors.map((values) => Int32Array.from(values));

/** The root as one of the graphs gives it: the one that is expected, or that of the first graph. */
function firstThatFits(
  graphs: readonly IntegerGraph[] | null,
  rootOf: (graph: IntegerGraph, tensors: readonly Int32Array[], items: number) => string,
): RootOf {
  return (tensors, items, expected) => {
    if (graphs === null)
      return {
        verdict: 'undetermined',
        reason: `not checked; the key alone leaves more than ${MOST_COMBINATIONS} orders of axes open, so give --bundle too`,
      };
    const values = integers(tensors);
    let first: Hex | undefined;
    for (const graph of graphs) {
      const root = rootOf(graph, values, items) as Hex;
      if (root === expected) return root;
      first ??= root;
    }
    return first!;
  };
}

/** More combinations on one side than this are not tried; a model of that many images has to be checked with its bundle. */
const MOST_COMBINATIONS = 1296;

/** Every way in which the ports of a model with this program may be shaped and laid out, each side by itself. */
function portGraphs({ witness, tables, inputs, outputs }: Program): Record<Side, IntegerGraph[] | null> {
  return {
    inputs: sideGraphs(
      'inputs',
      inputs.map(({ slot, table }, i) => {
        const { lo, hi } = tables[table] as Extract<(typeof tables)[number], { kind: 'input' }>;
        return layoutsOf(`input ${i}`, [witness[slot]!.axes], { lo, hi });
      }),
    ),
    outputs: sideGraphs(
      'outputs',
      outputs.map(({ argMaxAxis: axis, expression: { axes }, range }, i) => {
        if (axis === null) return layoutsOf(`output ${i}`, [axes], range);
        const kept = axes.map((side, at) => (at === axis ? 1 : side));
        const shapes = [kept, kept.filter((_, at) => at !== axis)];
        return layoutsOf(`output ${i}`, shapes, { lo: 0, hi: axes[axis]! - 1 });
      }),
    ),
  };
}

type Side = 'inputs' | 'outputs';

/** Graphs with the ports of one side and nothing else, one for each combination; null where these are too many. */
function sideGraphs(side: Side, choices: readonly (readonly TensorInfo[])[]): IntegerGraph[] | null {
  if (choices.reduce((product, infos) => product * infos.length, 1) > MOST_COMBINATIONS) return null;
  let combinations: TensorInfo[][] = [[]];
  for (const infos of choices) combinations = combinations.flatMap((chosen) => infos.map((info) => [...chosen, info]));
  return combinations.map((tensors) => ({
    name: 'ports of a model key',
    tensors,
    nodes: [],
    inputs: [],
    outputs: [],
    [side]: tensors.map((_, id) => id),
  }));
}

function layoutsOf(name: string, shapes: readonly (readonly number[])[], range: TensorInfo['range']): TensorInfo[] {
  return shapes.flatMap((shape) =>
    layoutsOfRank(shape.length).map((layout) => ({ name, shape, range, scale: 1, zeroPoint: 0, layout })),
  );
}

/** The compiler reorders images (channel, row, column) alone. */
const layoutsOfRank = (rank: number): number[][] =>
  rank === 3
    ? [
        [0, 1, 2],
        [1, 2, 0],
        [0, 2, 1],
        [1, 0, 2],
        [2, 0, 1],
        [2, 1, 0],
      ]
    : [Array.from({ length: rank }, (_, axis) => axis)];
