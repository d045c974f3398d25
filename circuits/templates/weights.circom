pragma circom 2.1.0;

/*
 * Weights of functionals at a point (docs/protocol.md, Functionals). Index bits are most significant first, coordinates of
 * points in the same order. Nothing is assumed of any signal here: all are field elements and all formulas polynomial.
 */

/*
 * eq(a, b) = prod_i (1 - a_i - b_i + 2 a_i b_i).
 * Constraints: 2n - 1.
 */
template Equality(n) {
    signal input a[n];
    signal input b[n];
    signal output value;

    signal both[n];
    signal product[n];
    for (var i = 0; i < n; i++) {
        both[i] <== a[i] * b[i];
        var factor = 1 - a[i] - b[i] + 2 * both[i];
        if (i == 0) {
            product[i] <== factor;
        } else {
            product[i] <== product[i - 1] * factor;
        }
    }
    value <== product[n - 1];
}

/*
 * eq(point, x) for all x of n bits, value[x] with x as an integer. Of the two halves of a node one is a product, the other
 * the node less that product: a linear expression, which costs a constraint only where it is handed out.
 * Constraints: 3 * 2^(n - 1) - 1.
 */
template EqualityTable(n) {
    signal input point[n];
    signal output value[1 << n];

    signal half[1 << n];
    var node[2 << n];
    half[0] <== 0;
    node[1] = 1;
    for (var level = 0; level < n; level++) {
        for (var i = 0; i < 1 << level; i++) {
            var parent = (1 << level) + i;
            half[parent] <== node[parent] * point[level];
            node[2 * parent] = node[parent] - half[parent];
            node[2 * parent + 1] = half[parent];
        }
    }
    for (var x = 0; x < 1 << n; x++) {
        value[x] <== node[(1 << n) + x];
    }
}

/*
 * LT(u, d) = sum over x < d of eq(u, x), for the constant d, 0 < d < 2^n: from the lowest bit up, with the sum L over the
 * bits that are done, L <- d_i ? (1 - u_i) + u_i L : (1 - u_i) L. L is 0 up to the lowest 1 of d.
 * Constraints: at most n.
 */
template LessThan(n, d) {
    assert(0 < d && d < 2 ** n);
    signal input u[n];
    signal output value;

    signal product[n];
    var sum = 0;
    var started = 0;
    for (var i = n - 1; i >= 0; i--) {
        var bit = (d >> (n - 1 - i)) & 1;
        if (started == 0) {
            product[i] <== 0;
        } else {
            product[i] <== u[i] * sum;
        }
        if (bit == 1) {
            sum = 1 - u[i] + product[i];
            started = 1;
        } else {
            sum -= product[i];
        }
    }
    value <== sum;
}

/*
 * W(u, d) = sum over x < d of prod_i (x_i ? one_i : zero_i) eq(u, x), for the constant d, 0 < d <= 2^n: the extension of a
 * weight that is masked to an axis of side d. From the lowest bit up, with f0 = zero_i (1 - u_i), f1 = one_i u_i, the sum T
 * over all values of the bits that are done and the sum P over those below d's:
 *
 *   P <- d_i ? f0 T + f1 P : f0 P,   T <- (f0 + f1) T
 *
 * Constraints: at most 5n.
 */
template MaskedWeight(n, d) {
    assert(0 < d && d <= 2 ** n);
    signal input zero[n];
    signal input one[n];
    signal input u[n];
    signal output value;

    component sum = MaskedSum(n, d);
    for (var i = 0; i < n; i++) {
        sum.f0[i] <== zero[i] * (1 - u[i]);
        sum.f1[i] <== one[i] * u[i];
    }
    value <== sum.value;
}

/*
 * As MaskedWeight with the weight eq(point, .): zero = 1 - point, one = point.
 * Constraints: at most 5n.
 */
template MaskedEquality(n, d) {
    assert(0 < d && d <= 2 ** n);
    signal input point[n];
    signal input u[n];
    signal output value;

    component sum = MaskedSum(n, d);
    for (var i = 0; i < n; i++) {
        sum.f0[i] <== (1 - point[i]) * (1 - u[i]);
        sum.f1[i] <== point[i] * u[i];
    }
    value <== sum.value;
}

/*
 * sum over x < d of prod_i (x_i ? f1_i : f0_i): the recursion of MaskedWeight.
 * Constraints: at most 3n.
 */
template MaskedSum(n, d) {
    signal input f0[n];
    signal input f1[n];
    signal output value;

    signal all[n];
    signal atZero[n];
    signal atOne[n];
    var total = 1;
    var part = 0;
    var empty = 1;
    for (var i = n - 1; i >= 0; i--) {
        var bit = (d >> (n - 1 - i)) & 1;
        var whole = d == 2 ** n ? 1 : 0;
        var before = total;
        if (i == n - 1) {
            all[i] <== f0[i] + f1[i];
        } else {
            all[i] <== (f0[i] + f1[i]) * total;
        }
        total = all[i];
        if (whole == 1 || (empty == 1 && bit == 0)) {
            atZero[i] <== 0;
            atOne[i] <== 0;
        } else {
            if (bit == 1) {
                if (i == n - 1) {
                    atZero[i] <== f0[i];
                } else {
                    atZero[i] <== f0[i] * before;
                }
                if (empty == 1) {
                    atOne[i] <== 0;
                } else {
                    atOne[i] <== f1[i] * part;
                }
                part = atZero[i] + atOne[i];
                empty = 0;
            } else {
                atZero[i] <== f0[i] * part;
                atOne[i] <== 0;
                part = atZero[i];
            }
        }
    }
    if (d == 2 ** n) {
        value <== total;
    } else {
        value <== part;
    }
}

/*
 * sum_i values[i] r^i, i from 0.
 * Constraints: count - 1, count >= 2.
 */
template Powers(count) {
    signal input values[count];
    signal input r;
    signal output value;

    signal horner[count];
    horner[count - 1] <== values[count - 1];
    for (var i = count - 2; i >= 0; i--) {
        horner[i] <== horner[i + 1] * r + values[i];
    }
    value <== horner[0];
}
