/**
 * Writes the AssemblyScript of the fast path of tensor-root.ts: range check, encoding, layout and hashes of one block of a
 * tensor, without leaving WebAssembly memory. prover/wasm/build/build-wasm.ts compiles it; tensor-hasher.ts calls it.
 *
 * Keccak-f[1600] (FIPS 202, section 3) on two states at once: lane i of both states is one i64x2. A tree's leaves are
 * independent, and so are the nodes of a level, so they are hashed in pairs; one left over is hashed twice. A round takes
 * 188 vector instructions for two states against 155 scalar ones for one: 195 ns a permutation against 295 ns, and 5,300 ns
 * in JavaScript (AMD EPYC, Node 20). Nearly every preimage is below the rate of 136 bytes, so it is one permutation, and is
 * read from where its bytes lie, lane by lane, instead of being put together first.
 *
 * A block is BLOCK_CHUNKS chunks from a multiple of that number: a subtree of the tensor's tree (merkle.ts step 2: within
 * it every left-over node rises as it does in the whole tree). Its steps:
 *   1. Elements of the block in committed order, encoded, into scratch memory. The order is given as dimensions and
 *      strides, outermost first, merged where one continues the other. A row is the innermost dimension. Sixteen
 *      neighbouring rows of bytes are transposed in registers (channels-last from channels-first), the rest is gathered.
 *      Least and largest element are kept on the way.
 *   2. Leaves, then levels of nodes in place, until one value is left.
 */
import { CHUNK_ELEMENTS } from '../chunk-size.js';
import { TAG } from '../tags.js';
import { BLOCK_CHUNKS, ELEMENTS_AT, JOB, LEAVES_AT, MAX_DIMENSIONS, SCRATCH_BYTES, STATE_BYTES } from './layout.js';

const range = (count: number): number[] => [...Array(count).keys()];

/** Rotations of step rho, [x][y]. */
const ROTATIONS: readonly (readonly number[])[] = [
  [0, 36, 3, 41, 18],
  [1, 44, 10, 45, 2],
  [62, 6, 43, 15, 61],
  [28, 55, 25, 21, 56],
  [27, 20, 39, 8, 14],
];

/** Round constants of step iota, by the shift register of FIPS 202, algorithm 5. */
function roundConstants(): bigint[] {
  let register = 1;
  return range(24).map(() => {
    let constant = 0n;
    for (const j of range(7)) {
      if (register & 1) constant |= 1n << BigInt(2 ** j - 1);
      register = (register << 1) ^ ((register >> 7) * 0x171);
    }
    return constant;
  });
}

const xor = (...terms: string[]): string => terms.reduce((sum, term) => `v128.xor(${sum}, ${term})`);
const rotate = (lane: string, bits: number): string =>
  bits === 0 ? lane : `v128.or(i64x2.shl(${lane}, ${bits}), i64x2.shr_u(${lane}, ${64 - bits}))`;

/** Lanes are a0 .. a24, index x + 5 y. */
function permutation(): string {
  const lines: string[] = [];
  for (const x of range(5)) lines.push(`const c${x} = ${xor(...range(5).map((y) => `a${x + 5 * y}`))};`);
  for (const x of range(5)) lines.push(`const d${x} = ${xor(`c${(x + 4) % 5}`, rotate(`c${(x + 1) % 5}`, 1))};`);
  for (const x of range(5))
    for (const y of range(5)) {
      const to = y + 5 * ((2 * x + 3 * y) % 5);
      lines.push(`const t${to} = ${xor(`a${x + 5 * y}`, `d${x}`)};`);
      lines.push(`const b${to} = ${rotate(`t${to}`, ROTATIONS[x]![y]!)};`);
    }
  for (const y of range(5))
    for (const x of range(5)) {
      const at = (dx: number): string => `b${((x + dx) % 5) + 5 * y}`;
      const chi = xor(at(0), `v128.andnot(${at(2)}, ${at(1)})`);
      lines.push(`a${x + 5 * y} = ${x + y === 0 ? xor(chi, 'v128.load64_splat(ROUNDS + r)') : chi};`);
    }
  return `
const ROUNDS = memory.data<u64>([${roundConstants().join(', ')}]);

function permute(state: usize): void {
  ${range(25)
    .map((i) => `let a${i} = v128.load(state, ${16 * i});`)
    .join('\n  ')}
  for (let r: usize = 0; r < 192; r += 8) {
    ${lines.join('\n    ')}
  }
  ${range(25)
    .map((i) => `v128.store(state, a${i}, ${16 * i});`)
    .join('\n  ')}
}`;
}

/** A lane of both states, from two expressions of u64. */
const pair = (first: string, second: string): string => `i64x2.replace_lane(i64x2.splat(${first}), 1, ${second})`;
const setLane = (lane: number, value: string): string => `v128.store(state, ${value}, ${16 * lane});`;
const both = (lane: number, at: (data: string) => string): string => setLane(lane, pair(at('p'), at('q')));
/** Eight bytes of both preimages, from `offset` on in what p and q point to. */
const loaded = (lane: number, offset: number): string =>
  setLane(lane, `v128.load64_lane(q, v128.load64_zero(p, ${offset}), 1, ${offset})`);
const zero = (lane: number): string => setLane(lane, 'i64x2.splat(0)');
const END = '0x8000000000000000';

/**
 * Leaves of two full chunks at p and q: 6 bytes of header, 64 w bytes of elements, then padding (0x01 .. 0x80). Six bytes
 * of elements are left over after whole lanes, whatever w is.
 */
function fullLeaves(width: 1 | 2 | 4): string {
  const tail = (offset: number, padding: string) => (data: string) =>
    `(load<u64>(${data}, ${offset}) & 0xffffffffffff) | ${padding}`;
  const head = both(
    0,
    (data) => `leafHead(${data === 'p' ? 'index' : 'index + 1'}, ${CHUNK_ELEMENTS}) | (<u64>load<u16>(${data}) << 48)`,
  );
  const body = (lanes: number): string[] => range(lanes).map((i) => loaded(i + 1, 8 * (i + 1) - 6));
  const lines: Record<1 | 2 | 4, string[]> = {
    1: [
      head,
      ...body(7),
      both(8, tail(58, '(<u64>1 << 48)')),
      ...range(7).map((i) => zero(9 + i)),
      setLane(16, `i64x2.splat(${END})`),
    ],
    2: [head, ...body(15), both(16, tail(122, `(<u64>1 << 48) | ${END}`))],
    4: [head, ...body(16)],
  };
  const second = [
    ...range(15).map((i) =>
      setLane(
        i,
        xor(
          `v128.load(state, ${16 * i})`,
          `v128.load64_lane(q, v128.load64_zero(p, ${130 + 8 * i}), 1, ${130 + 8 * i})`,
        ),
      ),
    ),
    setLane(15, xor('v128.load(state, 240)', pair(tail(250, '(<u64>1 << 48)')('p'), tail(250, '(<u64>1 << 48)')('q')))),
    setLane(16, xor('v128.load(state, 256)', `i64x2.splat(${END})`)),
    'permute(state);',
  ];
  return `
function fullLeaves${width}(state: usize, p: usize, q: usize, index: u32): void {
  ${[...lines[width], ...range(8).map((i) => zero(17 + i)), 'permute(state);', ...(width === 4 ? second : [])].join('\n  ')}
}`;
}

/** Hashes of two nodes whose children lie at p and q, 64 bytes each. */
function nodes(): string {
  const lines = [
    both(0, (data) => `(load<u64>(${data}) << 8) | tag`),
    ...range(7).map((i) => loaded(i + 1, 8 * (i + 1) - 1)),
    both(8, (data) => `<u64>load<u8>(${data}, 63) | 0x100`),
    ...range(16).map((i) => (9 + i === 16 ? setLane(16, `i64x2.splat(${END})`) : zero(9 + i))),
    'permute(state);',
  ];
  return `
function nodePair(state: usize, tag: u64, p: usize, q: usize): void {
  ${lines.join('\n  ')}
}`;
}

/** Hashes: pairs, and what is left over twice; levels in place. */
const HASHES = `
/** First six bytes of a leaf's preimage: tag, index big-endian, number of elements. */
// @ts-ignore: decorator
@inline
function leafHead(index: u32, length: u64): u64 {
  return ${TAG.chunk} | (<u64>bswap<u32>(index) << 8) | (length << 40);
}

// @ts-ignore: decorator
@inline
function storeFirst(state: usize, out: usize): void {
  for (let i: usize = 0; i < 4; i++) store<u64>(out + 8 * i, load<u64>(state + 16 * i));
}

// @ts-ignore: decorator
@inline
function storeBoth(state: usize, out: usize): void {
  storeFirst(state, out);
  for (let i: usize = 0; i < 4; i++) store<u64>(out + 32 + 8 * i, load<u64>(state + 16 * i, 8));
}

/** keccak256 of any bytes, in the first of the two states. */
export function keccak(state: usize, data: usize, length: u32, out: usize): void {
  memory.fill(state, 0, ${STATE_BYTES});
  for (; length >= 136; length -= 136) {
    for (let i: usize = 0; i < 136; i += 8) store<u64>(state + 2 * i, load<u64>(state + 2 * i) ^ load<u64>(data + i));
    permute(state);
    data += 136;
  }
  let i: usize = 0;
  for (; i + 8 <= length; i += 8) store<u64>(state + 2 * i, load<u64>(state + 2 * i) ^ load<u64>(data + i));
  let last: u64 = <u64>1 << (8 * (length - i));
  for (let j: usize = i; j < length; j++) last |= <u64>load<u8>(data + j) << (8 * (j - i));
  store<u64>(state + 2 * i, load<u64>(state + 2 * i) ^ last);
  store<u64>(state, load<u64>(state, 256) ^ ${END}, 256);
  permute(state);
  storeFirst(state, out);
}

/** Hashes of the chunks of \`count\` encoded elements at \`data\`, the first of which is number \`index\`, to \`out\`. */
function leaves(state: usize, data: usize, count: u32, width: u32, index: u32, out: usize): void {
  const step: usize = ${CHUNK_ELEMENTS} * width;
  let full = count / ${CHUNK_ELEMENTS};
  const rest = count % ${CHUNK_ELEMENTS};
  for (; full > 0; ) {
    const q = full > 1 ? data + step : data;
    if (width === 1) fullLeaves1(state, data, q, index);
    else if (width === 2) fullLeaves2(state, data, q, index);
    else fullLeaves4(state, data, q, index);
    if (full === 1) {
      storeFirst(state, out);
      full = 0;
      index += 1;
      data += step;
      out += 32;
    } else {
      storeBoth(state, out);
      full -= 2;
      index += 2;
      data += 2 * step;
      out += 64;
    }
  }
  if (rest > 0) {
    // Over the end of the chunk before, which has been hashed.
    const head = leafHead(index, rest);
    store<u32>(data - 6, <u32>head);
    store<u16>(data - 2, <u16>(head >> 32));
    keccak(state, data - 6, 6 + rest * width, out);
  }
}

/** Value of the tree over \`count\` >= 1 hashes at \`level\`, left in the first of them. \`state\`: 400 bytes of scratch. */
export function treeValue(state: usize, tag: u32, level: usize, count: u32): void {
  while (count > 1) {
    const pairs = count >> 1;
    let from = level;
    let to = level;
    for (let i: u32 = 0; i < pairs; i += 2) {
      if (i + 1 < pairs) {
        nodePair(state, tag, from, from + 64);
        storeBoth(state, to);
      } else {
        nodePair(state, tag, from, from);
        storeFirst(state, to);
      }
      from += 128;
      to += 64;
    }
    if ((count & 1) !== 0) memory.copy(level + 32 * pairs, level + 32 * (count - 1), 32);
    count = (count + 1) >> 1;
  }
}
`;

/** A 16 x 16 transposition of bytes: four rounds of interleaving row i with row i + 8. */
function transposeTile(): string {
  const lines: string[] = [];
  let names = range(16).map((i) => `r${i}`);
  for (const round of range(4)) {
    const next = range(16).map((i) => `s${round}_${i}`);
    for (const i of range(8)) {
      const [low, high] = [0, 8].map((base) =>
        range(8)
          .flatMap((j) => [base + j, 16 + base + j])
          .join(', '),
      );
      lines.push(`const ${next[2 * i]} = i8x16.shuffle(${names[i]}, ${names[i + 8]}, ${low});`);
      lines.push(`const ${next[2 * i + 1]} = i8x16.shuffle(${names[i]}, ${names[i + 8]}, ${high});`);
    }
    names = next;
  }
  return `
/**
 * Sixteen rows from columns 0 .. last <= 15 of sixteen int32, \`stride\` bytes apart; rows are \`pitch\` bytes apart. What is
 * written beyond column \`last\` of a row the next row covers.
 */
function transposeTile(source: usize, stride: u32, last: u32, out: usize, pitch: u32, signed: bool): void {
  ${range(16)
    .map((i) => `const r${i} = narrow16(source + ${i < 1 ? 0 : `min<u32>(${i}, last)`} * stride, signed);`)
    .join('\n  ')}
  ${lines.join('\n  ')}
  ${names.map((name, i) => `v128.store(out + ${i} * pitch, ${name});`).join('\n  ')}
}`;
}

/** Step 1. */
const ELEMENTS = `
/** Least and largest element of the block so far, in each of four lanes. */
let least: v128 = i32x4.splat(0);
let most: v128 = i32x4.splat(0);

// @ts-ignore: decorator
@inline
function seen(v: v128): v128 {
  least = i32x4.min_s(least, v);
  most = i32x4.max_s(most, v);
  return v;
}

/** Sixteen int32 as bytes. Narrowing saturates; what does not fit is outside the range and refused at the end. */
// @ts-ignore: decorator
@inline
function narrow16(source: usize, signed: bool): v128 {
  const a = i16x8.narrow_i32x4_s(seen(v128.load(source)), seen(v128.load(source, 16)));
  const b = i16x8.narrow_i32x4_s(seen(v128.load(source, 32)), seen(v128.load(source, 48)));
  return signed ? i8x16.narrow_i16x8_s(a, b) : i8x16.narrow_i16x8_u(a, b);
}

// @ts-ignore: decorator
@inline
function storeElement(out: usize, value: i32, width: u32): void {
  seen(i32x4.splat(value));
  if (width === 1) store<u8>(out, <u8>value);
  else if (width === 2) store<u16>(out, bswap<u16>(<u16>value));
  else store<u32>(out, bswap<u32>(<u32>value));
}

/** \`count\` elements that lie \`stride\` bytes apart. */
function encodeRow(source: usize, stride: u32, count: u32, out: usize, width: u32, signed: bool): void {
  let i: u32 = 0;
  if (stride === 4) {
    if (width === 1) for (; i + 16 <= count; i += 16) v128.store(out + i, narrow16(source + 4 * i, signed));
    else if (width === 2)
      for (; i + 8 <= count; i += 8) {
        const a = seen(v128.load(source + 4 * i));
        const b = seen(v128.load(source + 4 * i, 16));
        // The low halves of both, each with its bytes swapped.
        v128.store(out + 2 * i, i8x16.shuffle(a, b, 1, 0, 5, 4, 9, 8, 13, 12, 17, 16, 21, 20, 25, 24, 29, 28));
      }
    else
      for (; i + 4 <= count; i += 4) {
        const a = seen(v128.load(source + 4 * i));
        v128.store(out + 4 * i, i8x16.shuffle(a, a, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
      }
  }
  for (; i < count; i++) storeElement(out + i * width, load<i32>(source + i * stride), width);
}

/** Offset in elements of row \`row\` of a job: its digits in the dimensions but the last, times their strides. */
function rowOffset(job: usize, dimensions: u32, row: u32): u32 {
  let offset: u32 = 0;
  for (let i = <i32>dimensions - 2; i >= 0; i--) {
    const side = load<u32>(job + 4 * i, ${JOB.orders});
    offset += (row % side) * load<u32>(job + 4 * i, ${JOB.orders + 4 * MAX_DIMENSIONS});
    row /= side;
  }
  return offset;
}

/** Elements \`first\` .. \`end\` - 1 in committed order, encoded, to \`out\`. */
function encodeRange(job: usize, first: u32, end: u32, out: usize): void {
  const data = <usize>load<u32>(job, ${JOB.data});
  const width = load<u32>(job, ${JOB.width});
  const signed = load<u32>(job, ${JOB.signed}) !== 0;
  const dimensions = load<u32>(job, ${JOB.dimensions});
  const inner = job + 4 * (dimensions - 1);
  const length = load<u32>(inner, ${JOB.orders});
  const stride: u32 = 4 * load<u32>(inner, ${JOB.orders + 4 * MAX_DIMENSIONS});
  // Rows that follow each other in memory, where the last dimension but one has stride 1.
  let neighbours: u32 = 1;
  if (dimensions > 1 && load<u32>(inner - 4, ${JOB.orders + 4 * MAX_DIMENSIONS}) === 1)
    neighbours = load<u32>(inner - 4, ${JOB.orders});
  while (first < end) {
    const row = first / length;
    const column = first % length;
    const source = data + 4 * rowOffset(job, dimensions, row);
    if (width === 1 && column === 0 && (row % neighbours) + 16 <= neighbours && first + 16 * length <= end) {
      if (length < 16) transposeTile(source, stride, length - 1, out, length, signed);
      else {
        for (let c: u32 = 0; c + 16 <= length; c += 16)
          transposeTile(source + c * stride, stride, 15, out + c, length, signed);
        // The last columns once more as part of a full tile.
        if (length % 16 !== 0)
          transposeTile(source + (length - 16) * stride, stride, 15, out + length - 16, length, signed);
      }
      first += 16 * length;
      out += 16 * length;
    } else {
      const count = min<u32>(length - column, end - first);
      encodeRow(source + column * stride, stride, count, out, width, signed);
      first += count;
      out += count * width;
    }
  }
}

/**
 * Value of block \`block\` of a job to its place in the job's results. \`scratch\`: ${SCRATCH_BYTES} bytes of the thread's own.
 * @returns 1, or 0 where an element lies outside the range.
 */
export function hashBlock(job: usize, block: u32, scratch: usize): u32 {
  const firstChunk = block * ${BLOCK_CHUNKS};
  const first = firstChunk * ${CHUNK_ELEMENTS};
  const end = min<u32>(load<u32>(job, ${JOB.elements}), first + ${BLOCK_CHUNKS * CHUNK_ELEMENTS});
  const width = load<u32>(job, ${JOB.width});
  const lo = load<i32>(job, ${JOB.lo});
  const hi = load<i32>(job, ${JOB.hi});
  least = i32x4.splat(hi);
  most = i32x4.splat(lo);
  encodeRange(job, first, end, scratch + ${ELEMENTS_AT});
  const below = i32x4.lt_s(least, i32x4.splat(lo));
  const above = i32x4.gt_s(most, i32x4.splat(hi));
  if (v128.any_true(v128.or(below, above))) return 0;
  const level = scratch + ${LEAVES_AT};
  leaves(scratch, scratch + ${ELEMENTS_AT}, end - first, width, firstChunk, level);
  treeValue(scratch, ${TAG.tensorNode}, level, (end - first + ${CHUNK_ELEMENTS - 1}) / ${CHUNK_ELEMENTS});
  memory.copy(<usize>load<u32>(job, ${JOB.out}) + 32 * block, level, 32);
  return 1;
}

/** First byte that is not static data. */
export function staticEnd(): usize {
  return __heap_base;
}
`;

export const hashCode = (): string =>
  [permutation(), fullLeaves(1), fullLeaves(2), fullLeaves(4), nodes(), HASHES, transposeTile(), ELEMENTS].join('\n');
