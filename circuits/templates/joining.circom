pragma circom 2.1.0;

include "transcript.circom";

/*
 * What joins circuit and contract: both speak of the same x if they agree on (c, rho, E).
 *
 *   c = the state after one absorb of x, started from "assay/joining/1"
 *   E = sum_{i = 1..count} rho^i x_i
 *
 * The contract draws rho = keccak(.., c, x) after c has fixed the circuit's x, and computes E from its own: two different x
 * agree with probability at most count / r. The idea is that of EIP-4844's proof of equivalence; Sonobe's issue 280 shows
 * what happens without it.
 *
 * Assumes: nothing of x; rho is a public input, drawn by the contract. start = asciiElement("assay/joining/1").
 * Guarantees: c and e as above (circuits/poseidon/joining.ts).
 * Constraints: those of Absorb(1, count, count, 0) and count.
 */
template Joining(start, count) {
    signal input x[count];
    signal input rho;
    signal output c;
    signal output e;

    component absorb = Absorb(1, count, count, 0);
    absorb.state <== start;
    for (var i = 0; i < count; i++) {
        absorb.in[i] <== x[i];
    }
    c <== absorb.out[0];

    signal horner[count];
    for (var i = count - 1; i >= 0; i--) {
        var above = i == count - 1 ? 0 : horner[i + 1];
        horner[i] <== (above + x[i]) * rho;
    }
    e <== horner[0];
}
