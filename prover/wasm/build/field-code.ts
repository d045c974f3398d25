/**
 * Writes the unrolled arithmetic of one prime field as AssemblyScript: products, squares, fused forms, linear forms and
 * inner products without reduction.
 *
 * Symbols. p the modulus (254 bits), W = 29, limbs x_0 .. x_8 with x = sum x_i 2^(29 i), R = 2^261. An element a is
 * held as a R mod p. Normal form of an element in memory: x_0 .. x_7 in [0, 2^29), x_8 signed, x in (-p, 2p).
 *
 * A product of a and b, in column form (each column's products are summed apart from the carry chain, because neither
 * the compiler nor the engine reassociates sums: one serial sum takes twice as long):
 *   1. s_k = sum_{i+j=k} a_i b_j for the 17 columns k.
 *   2. Columns 0 .. 7 are removed from below: q = the low 29 bits of the column, its upper bits carry into the next
 *      one, and q 2^(29k) = q (2^-29 mod p) 2^(29(k+1)) mod p adds q rho_j to column k+1+j, rho = 2^-29 mod p. That
 *      saves the multiplication that finds q in a classic Montgomery step.
 *   3. Column 8 is removed by one classic Montgomery step: q = -s_8 / p mod 2^29, q p is added.
 *   4. Columns 9 .. 16 are the result a b / R mod p; a short carry chain puts them into normal form.
 *
 * Bounds. A column of step 1 holds at most 9 products below 2^58 for limbs within +-2^29, step 2 or 3 adds as much
 * again, and 2^63 = 3.55 * 9 * 2^58: a sum of two products of operands within +-2^29 is safe, and so is one product of
 * operands within +-2^30 and +-2^29. The difference of two normal elements stays within +-2^29, so it can be an operand
 * without a carry. Value: the result lies in ab/R + (-0.01p, p + rho), where rho is p/2 in Fr and p/7 in Fq, and R is 169 p;
 * so for |ab| <= 50 p^2 it lies in (-0.31p, 1.81p).
 *
 * Normalising. Where a result may leave (-p, 2p), floor(x/p) is estimated from the top limb and that multiple of p is
 * taken off in the same carry chain: the result lies in (-0.01p, 1.01p).
 */

const LIMBS = 9;
const LIMB_BITS = 29n;
const MASK = (1n << LIMB_BITS) - 1n;
const COLUMNS = 2 * LIMBS - 1;
/** 2 LIMBS - 1 product columns and two more for what many products carry out of the last one. */
export const WIDE_COLUMNS = COLUMNS + 2;
/** The top limb counts multiples of 2^232. */
const TOP_SHIFT = LIMB_BITS * BigInt(LIMBS - 1);
/** Fixed point of the estimate of floor(x/p). */
const ESTIMATE_BITS = 40n;
const R_BITS = LIMB_BITS * BigInt(LIMBS);

const range = (count: number): number[] => [...Array(count).keys()];

export function limbsOf(value: bigint): bigint[] {
  return range(LIMBS).map((i) => (value >> (LIMB_BITS * BigInt(i))) & MASK);
}

function inverseModulo(a: bigint, modulus: bigint): bigint {
  let [r0, r1, s0, s1] = [modulus, a % modulus, 0n, 1n];
  while (r1 !== 0n) {
    const quotient = r0 / r1;
    [r0, r1, s0, s1] = [r1, r0 - quotient * r1, s1, s0 - quotient * s1];
  }
  return s0 < 0n ? s0 + modulus : s0;
}

/** One operand: the element at a pointer, or the difference of two. */
type Operand = string | readonly [minuend: string, subtrahend: string];

interface Product {
  readonly left: Operand;
  readonly right: Operand;
  readonly negative?: true;
}

interface ProductForm {
  readonly name: string;
  /** What the function computes, for its comment. */
  readonly formula: string;
  readonly products: readonly Product[];
  /** An element added to, or taken from, the reduced result. */
  readonly linear?: { readonly pointer: string; readonly sign: '+' | '-' };
  /** Set where the value bound of the header does not hold by itself. */
  readonly normalise?: true;
}

const nameOf = (operand: Operand): string => (typeof operand === 'string' ? operand : operand.join('_'));
const pointersOf = (operand: Operand): readonly string[] => (typeof operand === 'string' ? [operand] : operand);

function loadOperand(operand: Operand, offset = 0): string[] {
  return range(LIMBS).map((i) => {
    const at = (pointer: string): string => `load<i32>(${pointer}, ${offset + 4 * i})`;
    const value = typeof operand === 'string' ? at(operand) : `(${at(operand[0])} - ${at(operand[1])})`;
    return `const ${nameOf(operand)}${i}: i64 = <i64>${value};`;
  });
}

/** Step 1 for one product: the terms of column k. A square takes each mixed term once and doubles. */
function columnTerms({ left, right }: Product, k: number): string {
  const [a, b] = [nameOf(left), nameOf(right)];
  const pairs = range(LIMBS)
    .map((i) => [i, k - i] as const)
    .filter(([, j]) => j >= 0 && j < LIMBS);
  if (a !== b) return pairs.map(([i, j]) => `${a}${i} * ${b}${j}`).join(' + ');
  const mixed = pairs.filter(([i, j]) => i < j).map(([i, j]) => `${a}${i} * ${a}${j}`);
  const square = k % 2 === 0 ? [`${a}${k / 2} * ${a}${k / 2}`] : [];
  return [...(mixed.length > 0 ? [`((${mixed.join(' + ')}) << 1)`] : []), ...square].join(' + ');
}

function columnSum(products: readonly Product[], k: number): string {
  return products
    .map((product, i) => `${product.negative ? '-' : i === 0 ? '' : '+'} (${columnTerms(product, k)})`)
    .join(' ');
}

/** The last lines of a form: `column(j)` is what limb j holds before the carry chain, `top` an estimate of limb 8. */
function carryChain(p: bigint, column: (limb: number) => string, top: string | null): string[] {
  const lines: string[] = [];
  const modulus = limbsOf(p);
  const estimate = (1n << ESTIMATE_BITS) / (p >> TOP_SHIFT);
  if (top !== null) lines.push(`const k: i64 = ((${top}) * ${estimate}) >> ${ESTIMATE_BITS};`);
  const taken = (j: number): string => (top === null ? '' : ` - k * ${modulus[j]}`);
  lines.push(`let u: i64 = ${column(0)}${taken(0)};`, `store<i32>(r, <i32>u & ${MASK}, 0);`);
  for (let j = 1; j < LIMBS; j++) {
    lines.push(`u = (u >> ${LIMB_BITS}) + ${column(j)}${taken(j)};`);
    lines.push(`store<i32>(r, <i32>u${j < LIMBS - 1 ? ` & ${MASK}` : ''}, ${4 * j});`);
  }
  return lines;
}

function renderFunction(
  name: string,
  formula: string,
  parameters: readonly string[],
  lines: readonly string[],
): string {
  const list = parameters.map((parameter) => (parameter.includes(':') ? parameter : `${parameter}: usize`)).join(', ');
  return `/** ${formula} */\nexport function ${name}(${list}): void {\n  ${lines.join('\n  ')}\n}\n`;
}

function productForm(p: bigint, form: ProductForm): string {
  const operands = new Map<string, Operand>();
  for (const { left, right } of form.products) {
    operands.set(nameOf(left), left);
    operands.set(nameOf(right), right);
  }
  const lines = [...operands.values()].flatMap((operand) => loadOperand(operand));
  const modulus = limbsOf(p);
  const rho = limbsOf(inverseModulo(1n << LIMB_BITS, p));
  const minusInverse = (1n << LIMB_BITS) - inverseModulo(p, 1n << LIMB_BITS);
  const last = LIMBS - 1;
  for (const k of range(COLUMNS)) lines.push(`const s${k}: i64 = ${columnSum(form.products, k)};`);
  for (const k of range(COLUMNS)) {
    // Contributions of earlier removals; the newest one, on which the carry chain waits, comes last.
    const terms = range(Math.min(k, last))
      .filter((i) => k - 1 - i < LIMBS)
      .map((i) => `q${i} * ${rho[k - 1 - i]}`);
    if (k > last) terms.push(`q${last} * ${modulus[k - last]}`);
    const newest = k > 0 && k <= last ? ` + (carry${k - 1} + ${terms.pop()})` : k === LIMBS ? ` + carry${last}` : '';
    const rest = terms.length > 0 ? ` + (${terms.join(' + ')})` : '';
    lines.push(`const t${k}: i64 = s${k}${rest}${newest};`);
    if (k < last) lines.push(`const q${k}: i64 = t${k} & ${MASK};`, `const carry${k}: i64 = t${k} >> ${LIMB_BITS};`);
    if (k === last)
      lines.push(
        `const q${k}: i64 = <i64>((<u32>t${k} * ${minusInverse}) & ${MASK});`,
        `const carry${k}: i64 = (t${k} + q${k} * ${modulus[0]}) >> ${LIMB_BITS};`,
      );
  }
  const { linear } = form;
  const added = (j: number): string =>
    linear === undefined ? '' : ` ${linear.sign} <i64>load<i32>(${linear.pointer}, ${4 * j})`;
  const column = (j: number): string => (j < last ? `t${LIMBS + j}${added(j)}` : `0${added(j)}`);
  const top = `((t${COLUMNS - 1} + (t${COLUMNS - 2} >> ${LIMB_BITS})) >> ${LIMB_BITS})${added(last)}`;
  lines.push(...carryChain(p, column, form.normalise ? top : null));
  const pointers = [...new Set([...[...operands.values()].flatMap(pointersOf), ...(linear ? [linear.pointer] : [])])];
  return renderFunction(form.name, form.formula, ['r', ...pointers], lines);
}

/** A sum of elements with signs, normalised: each of the at most four terms within (-2p, 4p). */
function linearForm(
  p: bigint,
  name: string,
  formula: string,
  terms: readonly (readonly ['+' | '-', string])[],
): string {
  const column = (j: number): string =>
    `${terms.map(([sign, pointer]) => `${sign} <i64>load<i32>(${pointer}, ${4 * j})`).join(' ')}`.replace(/^\+ /, '');
  return renderFunction(
    name,
    formula,
    ['r', ...terms.map(([, pointer]) => pointer)],
    carryChain(p, (j) => `(${column(j)})`, column(LIMBS - 1)),
  );
}

/** A sum or difference that is only carried, not normalised: for values on the way to a product (bounds of the caller). */
function carriedForm(p: bigint, name: string, formula: string, sign: '+' | '-'): string {
  const column = (j: number): string => `<i64>load<i32>(a, ${4 * j}) ${sign} <i64>load<i32>(b, ${4 * j})`;
  return renderFunction(name, formula, ['r', 'a', 'b'], carryChain(p, column, null));
}

/**
 * r = c v + a for an integer |v| < 2^31 or so: columns stay below 2^61, and the multiple of p is found in a double from
 * the three top columns (relative error 2^-50, the multiple below 2^33).
 */
function scaledInteger(p: bigint): string {
  const modulus = limbsOf(p);
  const lines = range(LIMBS).map(
    (i) => `const t${i}: i64 = <i64>load<i32>(c, ${4 * i}) * v + <i64>load<i32>(a, ${4 * i});`,
  );
  lines.push(
    `const k: i64 = <i64>Math.floor((<f64>t8 + <f64>t7 * ${1 / 2 ** 29} + <f64>t6 * ${1 / 2 ** 58}) * TOP_PER_MODULUS);`,
    `let u: i64 = t0 - k * ${modulus[0]};`,
    `store<i32>(r, <i32>u & ${MASK}, 0);`,
  );
  for (let j = 1; j < LIMBS; j++)
    lines.push(
      `u = (u >> ${LIMB_BITS}) + (t${j} - k * ${modulus[j]});`,
      `store<i32>(r, <i32>u${j < LIMBS - 1 ? ` & ${MASK}` : ''}, ${4 * j});`,
    );
  return renderFunction('scaleInteger', 'r = c v + a, normalised.', ['r', 'c', 'v: i64', 'a'], lines);
}

const carryColumns = (): string[] =>
  range(WIDE_COLUMNS - 1).map((k) => `t${k + 1} += t${k} >> ${LIMB_BITS}; t${k} &= ${MASK};`);

/** Products of one pair, added to the columns t_k; `offset` is in bytes. */
function addProducts(left: Operand, right: Operand, offset: number): string[] {
  return [
    '{',
    ...loadOperand(left, offset),
    ...loadOperand(right, offset),
    ...range(COLUMNS).map((k) => `t${k} += ${columnTerms({ left, right }, k)};`),
    '}',
  ];
}

const loadColumns = (): string[] => range(WIDE_COLUMNS).map((k) => `let t${k}: i64 = load<i64>(columns, ${8 * k});`);
const storeColumns = (): string[] => range(WIDE_COLUMNS).map((k) => `store<i64>(columns, t${k}, ${8 * k});`);

/** columns += sum of n products without reduction; columns are carried after every second pair (18 * 2^58 < 2^63). */
function dotForm(name: string, formula: string, left: Operand, right: Operand): string {
  const pointers = [...pointersOf(left), ...pointersOf(right)];
  const bytes = 4 * LIMBS;
  const advance = (pairs: number): string => pointers.map((pointer) => `${pointer} += ${pairs * bytes};`).join(' ');
  const lines = [
    ...loadColumns(),
    'let i: u32 = 1;',
    'for (; i < n; i += 2) {',
    ...addProducts(left, right, 0),
    ...addProducts(left, right, bytes),
    ...carryColumns(),
    advance(2),
    '}',
    'if (i === n) {',
    ...addProducts(left, right, 0),
    ...carryColumns(),
    '}',
    ...storeColumns(),
  ];
  return renderFunction(name, formula, ['columns', ...pointers, 'n: u32'], lines);
}

function accumulateForm(): string {
  const lines = [...loadColumns(), ...addProducts('a', 'b', 0), ...carryColumns(), ...storeColumns()];
  return renderFunction('accumulate', 'columns += a b, without reduction.', ['columns', 'a', 'b'], lines);
}

function constants(p: bigint): string {
  const data = (name: string, what: string, value: bigint): string =>
    `/** ${what} */\nexport const ${name}: usize = memory.data<i32>([${limbsOf(value).join(', ')}]);\n`;
  const words = (value: bigint): string =>
    range(4)
      .map((i) => (value >> BigInt(64 * i)) & 0xffffffffffffffffn)
      .join(', ');
  return [
    data('ZERO', '0', 0n),
    data('ONE', '1, that is R mod p.', (1n << R_BITS) % p),
    data('R_SQUARED', 'R as an element: a factor that undoes one reduction.', (1n << (2n * R_BITS)) % p),
    data('UNIT', 'The integer 1: a factor that leaves the Montgomery form.', 1n),
    data('MODULUS', 'p', p),
    data('RHO', '2^-29 mod p', inverseModulo(1n << LIMB_BITS, p)),
    `/** -1/p mod 2^29 */\nexport const MINUS_INVERSE: u32 = ${(1n << LIMB_BITS) - inverseModulo(p, 1n << LIMB_BITS)};\n`,
    `/** p - 2 as four words: the exponent of an inverse. */\nexport const INVERSE_EXPONENT: usize = memory.data<u64>([${words(p - 2n)}]);\n`,
    `/** 2^232 / p */\nexport const TOP_PER_MODULUS: f64 = ${Number(1n << TOP_SHIFT) / Number(p)};\n`,
  ].join('');
}

/** The whole file for the field of modulus p. */
export function fieldCode(p: bigint): string {
  const ab: Product = { left: 'a', right: 'b' };
  const aMinusZ: Operand = ['a', 'z'];
  return [
    '// Generated by prover/wasm/build/field-code.ts, which says what holds here. Never edited.\n',
    constants(p),
    productForm(p, { name: 'mul', formula: 'r = a b', products: [ab] }),
    productForm(p, { name: 'sqr', formula: 'r = a^2', products: [{ left: 'a', right: 'a' }] }),
    productForm(p, {
      name: 'mulAdd',
      formula: 'r = a b + c, normalised',
      products: [ab],
      linear: { pointer: 'c', sign: '+' },
      normalise: true,
    }),
    productForm(p, {
      name: 'mulSub',
      formula: 'r = a b - c, normalised',
      products: [ab],
      linear: { pointer: 'c', sign: '-' },
      normalise: true,
    }),
    productForm(p, { name: 'differenceMul', formula: 'r = (a - z) b', products: [{ left: aMinusZ, right: 'b' }] }),
    productForm(p, {
      name: 'differenceMulAdd',
      formula: 'r = (a - z) b + c, normalised',
      products: [{ left: aMinusZ, right: 'b' }],
      linear: { pointer: 'c', sign: '+' },
      normalise: true,
    }),
    productForm(p, {
      name: 'differenceMulSub',
      formula: 'r = (a - z) b - c, normalised',
      products: [{ left: aMinusZ, right: 'b' }],
      linear: { pointer: 'c', sign: '-' },
      normalise: true,
    }),
    productForm(p, {
      name: 'productSum',
      formula: 'r = a b + c d, normalised',
      products: [ab, { left: 'c', right: 'd' }],
      normalise: true,
    }),
    productForm(p, {
      name: 'productDifference',
      formula: 'r = a b - c d, normalised',
      products: [ab, { left: 'c', right: 'd', negative: true }],
      normalise: true,
    }),
    linearForm(p, 'add', 'r = a + b', [
      ['+', 'a'],
      ['+', 'b'],
    ]),
    linearForm(p, 'sub', 'r = a - b', [
      ['+', 'a'],
      ['-', 'b'],
    ]),
    linearForm(p, 'subTwo', 'r = a - b - c', [
      ['+', 'a'],
      ['-', 'b'],
      ['-', 'c'],
    ]),
    linearForm(p, 'negate', 'r = -a', [['-', 'a']]),
    carriedForm(p, 'addCarried', 'r = a + b, limbs carried, value not reduced', '+'),
    carriedForm(p, 'subCarried', 'r = a - b, limbs carried, value not reduced', '-'),
    scaledInteger(p),
    accumulateForm(),
    dotForm('dot', 'columns += sum of a_i b_i over n consecutive elements', 'a', 'b'),
    dotForm('dotDifferences', 'columns += sum of (a_i - z_i)(b_i - y_i)', aMinusZ, ['b', 'y']),
  ].join('\n');
}
