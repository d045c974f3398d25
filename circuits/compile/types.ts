/** Circom sources and what a compilation makes of them. */

export interface CircuitSources {
  /** Name of the file with `component main`. */
  readonly entry: string;
  /** Text of every file by its name, includes as they are written; names with `/` lie in folders. */
  readonly files: ReadonlyMap<string, string>;
}

/**
 * How far the compiler simplifies: 1 removes signals that equal another signal or a constant, 2 also every linear
 * constraint, at the price of longer expressions.
 */
export type Simplification = 1 | 2;

export interface CompiledCircuit {
  /** SHA-256 of the r1cs, hex: what keys are cached by and what a development key carries. */
  readonly circuitHash: string;
  /** The constraints, iden3's .r1cs format (r1cs/read-r1cs.ts). */
  readonly r1cs: Uint8Array;
  /** The witness calculator, WebAssembly. */
  readonly witnessProgram: Uint8Array;
  /** Lines `label,wire,component,name`: names of wires for messages. */
  readonly symbols: string;
}
