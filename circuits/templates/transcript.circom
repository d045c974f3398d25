pragma circom 2.1.0;

include "poseidon.circom";

/*
 * Blocks of an absorb of `count` elements: full ones of 16, then one of what is left, at least 2 (circuits/poseidon/
 * transcript.ts, blocksOf).
 */
function FULL_BLOCKS(count) {
    if (count == 0) {
        return 0;
    }
    return (count - 1) \ 16;
}

function LAST_BLOCK(count) {
    var rest = count - 16 * FULL_BLOCKS(count);
    if (rest <= 2) {
        return 2;
    }
    return rest;
}

/* Squeeze blocks of 8 that are needed once `drawn` of `draws` are there. */
function SQUEEZE_COUNT(draws, drawn) {
    if (draws <= drawn) {
        return 0;
    }
    return (draws - drawn + 7) \ 8;
}

function MINIMUM(a, b) {
    if (a < b) {
        return a;
    }
    return b;
}

/*
 * Absorbs one message and draws what follows it before the next one.
 *
 * kind: 1 field elements, 2 limbs of bytes, of which `size` says how many bytes there are; size = count for kind 1.
 * Assumes: nothing of state and in. That limbs are below 2^128 is the caller's duty where it uses them as integers.
 * Guarantees: out[0] is the state, out[1 + i] the challenge i that PoseidonTranscript gives for the same calls.
 * Constraints: those of its blocks; 3 (8 (k + 1) + R_P) + 1 and a few for a block of k, one per challenge.
 */
template Absorb(kind, size, count, draws) {
    signal input state;
    signal input in[count];
    // Not two signals: the compiler cannot make an array of no drawn elements.
    signal output out[draws + 1];

    var blocks = FULL_BLOCKS(count);
    var rest = LAST_BLOCK(count);
    var now = MINIMUM(draws, rest);
    var squeezes = SQUEEZE_COUNT(draws, rest);
    component full[blocks];
    component last = PoseidonBlock(rest, now);
    component squeeze[squeezes];

    for (var i = 0; i < blocks; i++) {
        full[i] = PoseidonBlock(16, 0);
        full[i].tag <== kind * 2 ** 64 + i * 2 ** 32 + size;
        if (i == 0) {
            full[i].state <== state;
        } else {
            full[i].state <== full[i - 1].out[0];
        }
        for (var j = 0; j < 16; j++) {
            full[i].in[j] <== in[16 * i + j];
        }
    }
    last.tag <== kind * 2 ** 64 + blocks * 2 ** 32 + size;
    if (blocks == 0) {
        last.state <== state;
    } else {
        last.state <== full[blocks - 1].out[0];
    }
    for (var j = 0; j < rest; j++) {
        if (16 * blocks + j < count) {
            last.in[j] <== in[16 * blocks + j];
        } else {
            last.in[j] <== 0;
        }
    }
    for (var i = 0; i < now; i++) {
        out[1 + i] <== last.out[1 + i];
    }
    for (var i = 0; i < squeezes; i++) {
        var from = rest + 8 * i;
        squeeze[i] = PoseidonBlock(8, 8);
        squeeze[i].tag <== 3 * 2 ** 64;
        if (i == 0) {
            squeeze[i].state <== last.out[0];
        } else {
            squeeze[i].state <== squeeze[i - 1].out[0];
        }
        for (var j = 0; j < 8; j++) {
            squeeze[i].in[j] <== 0;
        }
        for (var j = 0; j < MINIMUM(8, draws - from); j++) {
            out[1 + from + j] <== squeeze[i].out[1 + j];
        }
    }
    if (squeezes == 0) {
        out[0] <== last.out[0];
    } else {
        out[0] <== squeeze[squeezes - 1].out[0];
    }
}
