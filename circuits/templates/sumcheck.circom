pragma circom 2.1.0;

include "transcript.circom";

/*
 * The value at r of the polynomial with coefficients c_0, c_2, .., c_d and p(0) + p(1) = claim.
 *
 *   c_1 = claim - 2 c_0 - c_2 - .. - c_d,   value = ((c_d r + c_{d-1}) r + ..) r + c_0
 *
 * Assumes: d >= 2; nothing of the signals.
 * Guarantees: value as above.
 * Constraints: d.
 */
template RoundValue(d) {
    signal input claim;
    signal input coefficients[d];
    signal input r;
    signal output value;

    var linear = claim - coefficients[0];
    for (var i = 0; i < d; i++) {
        linear -= coefficients[i];
    }
    signal horner[d - 1];
    var above = coefficients[d - 1];
    for (var i = d - 1; i > 0; i--) {
        var next = i == 1 ? linear : coefficients[i - 1];
        horner[i - 1] <== above * r + next;
        above = horner[i - 1];
    }
    value <== above * r + coefficients[0];
}

/*
 * A sumcheck of n rounds of degree d: absorbs each round, draws its challenge, and reduces the claim.
 *
 * Assumes: the state has absorbed the statement and the claim's origin; nothing of coefficients.
 * Guarantees: point and value are those of verifySumcheck (prover/verifier/sumcheck.ts); the caller checks that the
 * summand at the point equals value.
 * Constraints: n times those of Absorb(1, d, d, 1) and d.
 */
template Sumcheck(n, d) {
    signal input state;
    signal input claim;
    signal input coefficients[n][d];
    signal output next;
    signal output point[n];
    signal output value;

    component absorb[n];
    component round[n];
    for (var i = 0; i < n; i++) {
        absorb[i] = Absorb(1, d, d, 1);
        round[i] = RoundValue(d);
        if (i == 0) {
            absorb[i].state <== state;
            round[i].claim <== claim;
        } else {
            absorb[i].state <== absorb[i - 1].out[0];
            round[i].claim <== round[i - 1].value;
        }
        for (var j = 0; j < d; j++) {
            absorb[i].in[j] <== coefficients[i][j];
            round[i].coefficients[j] <== coefficients[i][j];
        }
        round[i].r <== absorb[i].out[1];
        point[i] <== absorb[i].out[1];
    }
    next <== absorb[n - 1].out[0];
    value <== round[n - 1].value;
}
