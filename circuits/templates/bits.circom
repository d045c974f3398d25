pragma circom 2.1.0;

/*
 * The bits of an integer below 2^n, least significant first; n <= 253, so that the sum cannot wrap around r.
 *
 * Assumes: nothing; an `in` that is not below 2^n has no witness.
 * Guarantees: out are bits, in = sum_i 2^i out[i].
 * Constraints: n + 1.
 */
template Bits(n) {
    assert(n <= 253);
    signal input in;
    signal output out[n];

    var sum = 0;
    for (var i = 0; i < n; i++) {
        out[i] <-- (in >> i) & 1;
        out[i] * (out[i] - 1) === 0;
        sum += out[i] * 2 ** i;
    }
    sum === in;
}

/*
 * The two 128-bit limbs of a field element, as the integer in [0, r) that it is: low + 2^128 high = in, and not in + r.
 *
 * Bits b_253 .. b_0. in <= c = r - 1 bit by bit from the top: `same` is the product of the bits at places where c has a 1,
 * that is 1 as long as the bits equal c's, given that no bit was 1 where c has a 0. At a place where c has a 0 the bit must
 * be 0 while same = 1: b (1 - b - same) = 0 says this and, for same in {0, 1}, that b is a bit.
 *
 * Assumes: nothing.
 * Guarantees: low < 2^128, high < 2^126, low + 2^128 high < r equals in.
 * Constraints: 254, one for each further 1 among the bits of r - 1, and 1.
 */
template Limbs() {
    signal input in;
    signal output low;
    signal output high;

    // r - 1, which is -1 in the field.
    var c = -1;
    signal bit[254];
    signal same[255];
    same[254] <== 1;
    var sums[2] = [0, 0];
    for (var i = 253; i >= 0; i--) {
        bit[i] <-- (in >> i) & 1;
        if ((c >> i) & 1 == 1) {
            bit[i] * (bit[i] - 1) === 0;
            same[i] <== same[i + 1] * bit[i];
        } else {
            bit[i] * (1 - bit[i] - same[i + 1]) === 0;
            same[i] <== same[i + 1];
        }
        sums[i \ 128] += bit[i] * 2 ** (i % 128);
    }
    low <== sums[0];
    high <== sums[1];
    low + high * 2 ** 128 === in;
}
