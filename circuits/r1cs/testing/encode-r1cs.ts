/** Writes a small .r1cs (read-r1cs.ts has the format); labels are the wires. */
import { FR_MODULUS } from '../../../prover/field/bn254.params.js';
import { writeElement } from '../../setup/zkey-format.js';

/** A, B, C: coefficients by wire. */
export type PlainConstraint = readonly [Row, Row, Row];
type Row = Readonly<Record<number, bigint>>;

export interface PlainCircuit {
  readonly wires: number;
  readonly publicOutputs: number;
  readonly publicInputs: number;
  readonly privateInputs: number;
  readonly constraints: readonly PlainConstraint[];
}

export function encodeR1cs(circuit: PlainCircuit): Uint8Array {
  const words = (...values: number[]): Uint8Array => new Uint8Array(Uint32Array.from(values).buffer);
  const element = (value: bigint): Uint8Array => {
    const bytes = new Uint8Array(32);
    writeElement(new DataView(bytes.buffer), 0, value);
    return bytes;
  };
  const { wires, publicOutputs, publicInputs, privateInputs, constraints } = circuit;
  const row = (terms: Row): Uint8Array[] => {
    const entries = Object.entries(terms);
    return [words(entries.length), ...entries.flatMap(([wire, value]) => [words(Number(wire)), element(value)])];
  };
  const sections = [
    [
      words(32),
      element(FR_MODULUS),
      words(wires, publicOutputs, publicInputs, privateInputs, wires, 0, constraints.length),
    ],
    constraints.flatMap((parts) => parts.flatMap(row)),
    Array.from({ length: wires }, (_, wire) => words(wire, 0)),
  ];
  const bodies = sections.flatMap((parts, i) => {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    return [words(i + 1, length, 0), ...parts];
  });
  return Uint8Array.from(Buffer.concat([new TextEncoder().encode('r1cs'), words(1, sections.length), ...bodies]));
}
