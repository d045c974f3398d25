/** A circuit of Poseidon's kind, as large as wanted: a chain of blocks of four elements, 307 constraints each. */
import { circuitSources } from '../compile/circuit-sources.js';
import type { CircuitSources } from '../compile/types.js';

export const syntheticCircuit = (blocks: number): CircuitSources =>
  circuitSources(
    `pragma circom 2.1.0;
include "poseidon.circom";
template Chain(n) {
    signal input a;
    signal output o;
    component block[n];
    for (var i = 0; i < n; i++) {
        block[i] = PoseidonBlock(4, 1);
        block[i].tag <== 1;
        block[i].state <== i == 0 ? a : block[i - 1].out[0];
        for (var j = 0; j < 4; j++) {
            block[i].in[j] <== i == 0 ? a : block[i - 1].out[1];
        }
    }
    o <== block[n - 1].out[0];
}
component main = Chain(${blocks});
`,
    [5],
  );
