/** What a proof is about: models, batches, public inputs and outputs. */
import { AssayError } from '../../common/errors.js';
import { sizeOf } from '../../graph/tensor.js';
import type { PublicValues } from '../plan/claims.js';
import { packInput } from '../plan/inputs.js';
import type { Plan } from '../plan/plan.js';
import type { Transcript } from '../transcript/transcript.js';
import { modelKeyDigestBytes, type ModelKey } from './model-key.js';

/** One model and a batch of items; integers item-major, row-major inside an item. */
export interface GroupStatement {
  readonly key: ModelKey;
  readonly items: number;
  /** By input of the program. */
  readonly inputs: readonly Int32Array[];
  /** By output of the program: the published tensors (for an ArgMax at the end of a graph, its operand). */
  readonly outputs: readonly Int32Array[];
}

export interface Statement {
  readonly groups: readonly GroupStatement[];
}

const invalid = (message: string): never => {
  throw new AssayError('PROOF_INVALID', message);
};

/**
 * Checks lengths and ranges of the public integers and packs the inputs into words.
 * @throws AssayError PROOF_INVALID naming group, tensor and element.
 */
export function publicValues(statement: Statement): PublicValues {
  const check = (what: string, values: Int32Array, size: number, lo: number, hi: number): void => {
    if (values.length !== size) invalid(`${what} has ${values.length} elements, expected ${size}`);
    const at = values.findIndex((v) => v < lo || v > hi);
    if (at >= 0) invalid(`${what}: element ${at} is ${values[at]}, outside ${lo}..${hi}`);
  };
  const words = statement.groups.map(({ key: { program }, items, inputs, outputs }, g) => {
    if (inputs.length !== program.inputs.length)
      invalid(`group ${g} has ${inputs.length} inputs, its model takes ${program.inputs.length}`);
    if (outputs.length !== program.outputs.length)
      invalid(`group ${g} has ${outputs.length} outputs, its model gives ${program.outputs.length}`);
    program.outputs.forEach(({ range, expression }, i) =>
      check(`output ${i} of group ${g}`, outputs[i]!, items * sizeOf(expression.axes), range.lo, range.hi),
    );
    return program.inputs.map((input, i) => {
      const table = program.tables[input.table]!;
      if (table.kind !== 'input') return invalid(`group ${g}: the table of input ${i} is no input table`);
      check(
        `input ${i} of group ${g}`,
        inputs[i]!,
        items * sizeOf(program.witness[input.slot]!.axes),
        table.lo,
        table.hi,
      );
      return packInput(program, input, items, inputs[i]!);
    });
  });
  return { words, outputs: statement.groups.map(({ outputs }) => outputs) };
}

function bigEndian(value: bigint, bytes: number): Uint8Array {
  return Uint8Array.from({ length: bytes }, (_, i) => Number((value >> BigInt(8 * (bytes - 1 - i))) & 0xffn));
}

/** int32, big-endian two's complement. */
function int32s(values: Int32Array): Uint8Array {
  const bytes = new Uint8Array(4 * values.length);
  const view = new DataView(bytes.buffer);
  values.forEach((v, i) => view.setInt32(4 * i, v));
  return bytes;
}

/** Everything that is public, before any commitment: a proof holds for this statement and no other. */
export function absorbStatement(
  transcript: Transcript,
  context: { readonly scheme: string; readonly srsId: Uint8Array; readonly bound: Uint8Array },
  plan: Plan,
  statement: Statement,
  values: PublicValues,
): void {
  transcript.absorbBytes('protocol', new TextEncoder().encode(`assay/proof/1/${context.scheme}`));
  transcript.absorbBytes('srs', context.srsId);
  // What else the proof is tied to, such as an order; empty where nothing is.
  transcript.absorbBytes('context', context.bound);
  transcript.absorbBytes('shape', Uint8Array.of(plan.n, statement.groups.length));
  statement.groups.forEach(({ key, items, outputs }, g) => {
    transcript.absorbBytes('model', modelKeyDigestBytes(key));
    transcript.absorbBytes('items', bigEndian(BigInt(items), 4));
    for (const words of values.words[g]!) {
      const bytes = words.flatMap((item) => item.map(([, word]) => bigEndian(word, 16)));
      const all = new Uint8Array(16 * bytes.length);
      bytes.forEach((word, i) => all.set(word, 16 * i));
      transcript.absorbBytes('input', all);
    }
    for (const output of outputs) transcript.absorbBytes('output', int32s(output));
  });
}
