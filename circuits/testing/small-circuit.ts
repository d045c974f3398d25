/** A circuit of a few constraints, with one of everything: an output, a public and a private input, a linear constraint. */
import { compileCircuit } from '../compile/compile-circuit.js';
import type { CompiledCircuit } from '../compile/types.js';

export const SMALL_CIRCUIT = `pragma circom 2.1.0;
template Small() {
    signal input a;
    signal input p;
    signal output o;
    signal square;
    signal sum;
    square <== a * a + p;
    sum <== 3 * square + 5 * a + 7;
    signal cube <== sum * square;
    signal fourth <== cube * (a + p);
    o <== fourth * cube + 11;
}
component main {public [p]} = Small();
`;

export const smallCircuit = (): Promise<CompiledCircuit> =>
  compileCircuit({ entry: 'small.circom', files: new Map([['small.circom', SMALL_CIRCUIT]]) });
