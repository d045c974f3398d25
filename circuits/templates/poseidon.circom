pragma circom 2.1.0;

include "poseidon-constants.circom";

/*
 * One block of the Poseidon transcript (circuits/poseidon/transcript.ts): P_{k+1}(state + tag, in), sparse partial rounds.
 *
 * Cells of the permutation are `var`s: linear expressions over S-box outputs, which cost nothing. Only S-boxes and the
 * cells that are handed out become signals, so that no linear constraint is left for the compiler to remove: --O1 is
 * enough. In the partial rounds expressions grow by one term a round; every POSEIDON_CUT_ROUNDS rounds they become signals
 * again (k + 1 linear constraints), because a proving key holds 44 bytes for every term.
 *
 * Assumes: nothing of state, tag and in; they are any field elements. tag is a constant in every use.
 * Guarantees: out are the cells 0 .. draws of the permutation: the next state, then what is drawn.
 * Constraints: 3 (8 (k + 1) + R_P) + (k + 1) cuts + 1 + draws.
 */
template PoseidonBlock(k, draws) {
    signal input state;
    signal input tag;
    signal input in[k];
    signal output out[draws + 1];

    var t = k + 1;
    var full[8][t] = POSEIDON_FULL_CONSTANTS(t);
    var matrix[t][t] = POSEIDON_MATRIX(t);
    var entry[t][t] = POSEIDON_ENTRY_MATRIX(t);
    var rounds = POSEIDON_PARTIAL_ROUNDS(t);
    var partial[rounds][2 * t] = POSEIDON_PARTIAL(t);
    var cut = POSEIDON_CUT_ROUNDS(t);
    var cuts = (rounds - 1) \ cut;

    signal square[8 * t + rounds];
    signal fourth[8 * t + rounds];
    signal fifth[8 * t + rounds];
    signal cell[cuts][t];
    var box = 0;

    var x[t];
    var y[t];
    x[0] = state + tag;
    for (var i = 0; i < k; i++) {
        x[i + 1] = in[i];
    }

    for (var r = 0; r < 8; r++) {
        for (var i = 0; i < t; i++) {
            var input_ = x[i] + full[r][i];
            square[box] <== input_ * input_;
            fourth[box] <== square[box] * square[box];
            fifth[box] <== fourth[box] * input_;
            box++;
        }
        for (var i = 0; i < t; i++) {
            y[i] = 0;
            for (var j = 0; j < t; j++) {
                if (r == 3) {
                    y[i] += entry[i][j] * fifth[box - t + j];
                } else {
                    y[i] += matrix[i][j] * fifth[box - t + j];
                }
            }
        }
        for (var i = 0; i < t; i++) {
            x[i] = y[i];
        }

        if (r == 3) {
            for (var p = 0; p < rounds; p++) {
                if (p > 0 && p % cut == 0) {
                    for (var i = 0; i < t; i++) {
                        cell[p \ cut - 1][i] <== x[i];
                        x[i] = cell[p \ cut - 1][i];
                    }
                }
                var corner = x[0] + partial[p][0];
                square[box] <== corner * corner;
                fourth[box] <== square[box] * square[box];
                fifth[box] <== fourth[box] * corner;
                x[0] = partial[p][1] * fifth[box];
                for (var i = 1; i < t; i++) {
                    x[0] += partial[p][1 + i] * x[i];
                    x[i] += partial[p][t + i] * fifth[box];
                }
                box++;
            }
        }
    }
    for (var i = 0; i <= draws; i++) {
        out[i] <== x[i];
    }
}
