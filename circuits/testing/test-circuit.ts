/** Circuits for tests: compiled, with witnesses from snarkjs's calculator. */
import * as snarkjs from 'snarkjs';
import { circuitSources } from '../compile/circuit-sources.js';
import { compileCircuit } from '../compile/compile-circuit.js';
import type { CompiledCircuit } from '../compile/types.js';
import { readR1cs, type R1cs } from '../r1cs/read-r1cs.js';
import { readElement } from '../setup/zkey-format.js';
import type { CircuitInputs } from '../snarkjs/types.js';

export interface TestCircuit extends CompiledCircuit {
  readonly constraints: R1cs;
  /** All wires; throws where the circuit refuses the inputs. */
  witness(inputs: CircuitInputs): Promise<bigint[]>;
  /** The public outputs of a witness. */
  outputs(witness: readonly bigint[]): bigint[];
}

/** A change of a template: the first text is replaced by the second. */
export interface Mutation {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** @param component of main, for instance `Bits(8)`. */
export async function testCircuit(
  file: string,
  component: string,
  widths?: readonly number[],
  mutation?: Mutation,
): Promise<TestCircuit> {
  const main = `pragma circom 2.1.0;\ninclude "${file}.circom";\ncomponent main = ${component};\n`;
  const { entry, files } = circuitSources(main, widths);
  const compiled = await compileCircuit({ entry, files: mutation === undefined ? files : mutated(files, mutation) });
  const constraints = readR1cs(compiled.r1cs);
  return {
    ...compiled,
    constraints,
    witness: (inputs) => witnessOf(compiled, inputs),
    outputs: (witness) => witness.slice(1, 1 + constraints.publicOutputs),
  };
}

function mutated(files: ReadonlyMap<string, string>, { file, from, to }: Mutation): Map<string, string> {
  const text = files.get(file);
  if (text === undefined || !text.includes(from)) throw new Error(`${file} does not hold: ${from}`);
  return new Map(files).set(file, text.replace(from, to));
}

/** All wires; throws where the circuit refuses the inputs. */
export async function witnessOf({ witnessProgram }: CompiledCircuit, inputs: CircuitInputs): Promise<bigint[]> {
  const to: snarkjs.MemoryFile = { type: 'mem' };
  await snarkjs.wtns.calculate(inputs, { type: 'mem', data: witnessProgram }, to);
  return readWitness(to.data!);
}

/** File head 12, header section 12 + 40, section head 12; then 32 bytes a wire. */
function readWitness(bytes: Uint8Array): bigint[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return Array.from({ length: view.getUint32(60, true) }, (_, i) => readElement(view, 76 + 32 * i));
}
