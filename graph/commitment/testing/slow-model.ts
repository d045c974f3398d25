/** The descriptors of the test model written by hand from the specification in model-digest.ts, field by field. */
import type { IdentifiedModel } from '../model-digest.js';
import {
  int,
  slowCommitTable,
  slowConstant,
  slowDigest,
  slowList,
  slowMeaning,
  slowTensorField,
} from './slow-commitment.js';

const range = (count: number, at: (i: number) => number): number[] => Array.from({ length: count }, (_, i) => at(i));
const ints = (values: readonly number[]): string => values.map((v) => int(v, 4)).join('');
const ABSENT = '00'.repeat(32);

/** Numbers of the test model's tensors as slots: image, relu, logits and probability are some. */
const SLOTS = [0, null, 1, null, 2, null, 3] as const;

/** @param model what `testModel` gives, with any table. */
export function slowTestModel({ graph, committedSlots }: IdentifiedModel): {
  descriptors: string[];
  constants: string[];
  opCount: number;
  graphRoot: string;
  weightsRoot: string;
  digest: string;
} {
  const t = graph.tensors.map((info, id) => slowTensorField(info, SLOTS[id]!));
  const [relu, sigmoid] = graph.nodes.flatMap((node) => (node.kind === 'requant' ? [node.table] : []));
  const conv = slowConstant(
    [2, 2, 2, 2],
    range(16, (i) => 7 * i - 50),
  );
  const convBias = slowConstant([2], [300, -70_000]);
  const multipliers = slowConstant([2], [2 ** 17, 2 ** 18]);
  const fc = slowConstant(
    [3, 8],
    range(24, (i) => 5 * i - 60),
  );
  const scores = slowConstant(
    [3, 8],
    range(24, (i) => 40 * i - 400),
  );
  const unit = slowConstant([1], [4096]);
  const rows = sigmoid!.qHi - sigmoid!.qLo + 1;
  const table = slowConstant([rows], sigmoid!.kind === 'values' ? [...sigmoid!.values] : []);
  const window = ints([2, 2, 1, 1, 1, 1, 0, 0, 0, 0]);
  const committed =
    committedSlots === undefined ? int(4, 4) + ABSENT : int(committedSlots.length, 4) + slowCommitTable(committedSlots);
  const descriptors = [
    ints([1, 6, 2, 4]) + committed,
    t[0]! + slowMeaning('3f70000000000000', 0, 'Input3', 'float32', [1, 2, 3, 3], true),
    `03${t[1]}${slowList([0])}${window}${int(1, 4)}${conv}${convBias}`,
    `09${t[2]}${slowList([1])}01${int(0, 4)}${multipliers}00${ints([relu!.qLo, relu!.qHi, 0, 127])}`,
    `0d${t[3]}${slowList([2])}`,
    `01${t[4]}${slowList([3])}${fc}${ABSENT}`,
    `01${t[5]}${slowList([3])}${scores}${ABSENT}`,
    `09${t[6]}${slowList([5])}00${unit}01${ints([sigmoid!.qLo, sigmoid!.qHi])}${table}`,
    int(4, 4) + slowMeaning('3fc0000000000000', 0, 'Plus', 'float32', [1, 3], true),
    int(6, 4) + slowMeaning('3f70101010101010', 3, 'Prob', 'float32', [1, 3], true),
  ];
  const constants = [conv, convBias, multipliers, fc, scores, unit, table];
  return { descriptors, constants, opCount: 3, ...slowDigest(descriptors, constants, 3) };
}
