/** What an order names as its inputRoot that is to be proved in a recursive batch. */
import { bytesToHex } from '@noble/hashes/utils.js';
import type { IntegerGraph } from '../../graph/integer/types.js';
import { packInput } from '../../prover/plan/inputs.js';
import { buildProgram } from '../../prover/program/build-program.js';
import { programHash } from '../../prover/program/encode-program.js';
import type { Program } from '../../prover/program/types.js';
import { inputCommitment } from './commitments.js';

const programs = new WeakMap<IntegerGraph, Program>();
const hashes = new WeakMap<Program, string>();

/** Hash of a program, hex, computed once. */
export function programHashOf(program: Program): string {
  const known = hashes.get(program);
  if (known !== undefined) return known;
  const hash = bytesToHex(programHash(program));
  hashes.set(program, hash);
  return hash;
}

/** The shape program of a graph, made once. @throws AssayError NOT_PROVABLE */
export function programOf(graph: IntegerGraph): Program {
  const known = programs.get(graph);
  if (known !== undefined) return known;
  const { program } = buildProgram(graph);
  programs.set(graph, program);
  return program;
}

/**
 * The Poseidon commitment to the inputs, as 0x-hex of 32 bytes.
 * @param inputs one array per graph input, item-major, in range.
 * @throws AssayError NOT_PROVABLE
 */
export function batchInputRoot(graph: IntegerGraph, inputs: readonly Int32Array[], items: number): `0x${string}` {
  const program = programOf(graph);
  const words = program.inputs.flatMap((input, i) =>
    packInput(program, input, items, inputs[i]!).flatMap((item) => item.map(([, word]) => word)),
  );
  return `0x${inputCommitment(words).toString(16).padStart(64, '0')}`;
}
