/**
 * Slips of a verifier, one at a time: every refusal, every absorb and every claim left out, and the arithmetic that
 * holds them together changed. Found in the source by pattern, so that a new check is a new mutation without a word.
 * Where prover and verifier must agree (what is absorbed, how claims are combined) both are changed: an honest proof still
 * verifies then, and only an attack or the inventory can notice.
 */

export interface Edit {
  /** Relative to prover/. */
  readonly file: string;
  /** Character range of the source, and what stands there instead. */
  readonly from: number;
  readonly to: number;
  readonly by: string;
}

export interface Mutation {
  readonly name: string;
  readonly edits: readonly Edit[];
}

/** The source of a file under prover/. */
export type ReadSource = (file: string) => string;

/** A call that does nothing with its arguments. */
const NOTHING = '((..._: unknown[]): any => undefined)(';

/** Every match of a pattern as one mutation. */
function each(
  read: ReadSource,
  file: string,
  pattern: RegExp,
  by: string,
  name: (match: RegExpMatchArray, source: string) => string | null,
): Mutation[] {
  const source = read(file);
  return [...source.matchAll(pattern)].flatMap((match) => {
    const label = name(match, source);
    const from = match.index!;
    return label === null ? [] : [{ name: label, edits: [{ file, from, to: from + match[0].length, by }] }];
  });
}

/** The line after a place, for names. */
const following = (source: string, at: number): string =>
  source.slice(at).split('\n').slice(0, 2).join(' ').replaceAll(/\s+/g, ' ').slice(0, 90);

function refusals(read: ReadSource): Mutation[] {
  return [
    ...['verifier/verify-proof.ts', 'verifier/proof.ts', 'verifier/statement.ts'].flatMap((file) =>
      each(read, file, /\binvalid\(/g, NOTHING, (match, source) => `no refusal: ${following(source, match.index!)}`),
    ),
    ...each(
      read,
      'verifier/phases.ts',
      /(?<=\n {4})requireEqual\(/g,
      NOTHING,
      (match, source) => `no refusal: ${following(source, match.index!)}`,
    ),
    ...each(
      read,
      'plan/plan.ts',
      /\brefuse\(/g,
      NOTHING,
      (match, source) => `no refusal: ${following(source, match.index!)}`,
    ),
  ];
}

/** One absorb left out on both sides. */
function absorbs(read: ReadSource): Mutation[] {
  const call = (label: string): RegExp => new RegExp(`transcript\\.absorb\\w+\\((?=['\`]${label})`, 'g');
  const both = (label: string, files: readonly string[]): Mutation => ({
    name: `'${label}' not absorbed`,
    edits: files.flatMap((file) => each(read, file, call(label), NOTHING, () => label).flatMap(({ edits }) => edits)),
  });
  const labels = (file: string): string[] =>
    [...read(file).matchAll(/transcript\.absorb\w+\('([^']+)'/g)].map((match) => match[1]!);
  return [
    ...labels('verifier/phases.ts').map((label) =>
      both(label, ['verifier/phases.ts', 'reference/reference-prover.ts']),
    ),
    ...labels('verifier/statement.ts').map((label) => both(label, ['verifier/statement.ts'])),
    both('\\$\\{label\\} round', ['verifier/sumcheck.ts', 'reference/reference-sumcheck.ts']),
  ];
}

function claims(read: ReadSource): Mutation[] {
  const file = 'plan/claims.ts';
  return [
    ...each(
      read,
      file,
      /(?<=\n {4,6})column\((?=')/g,
      NOTHING,
      (match, source) => `no claim: ${following(source, match.index!)}`,
    ),
    ...each(
      read,
      file,
      /collector\.claim\(/g,
      NOTHING,
      (match, source) => `no claim: ${following(source, match.index!)}`,
    ),
  ];
}

/** [name, then pairs of file, what stands there once, and what shall]. */
type Written = readonly [string, ...(readonly [string, string, string])[]];

const WRITTEN: readonly Written[] = [
  ['axes read without their mask', ['plan/functional.ts', 'if (side === 2 ** n) return', 'if (n >= 0) return']],
  ['phase L: helper gw not in the sum', ['plan/lookup.ts', '    sum = add(sum, gw);\n', '']],
  ['phase L: helper gx not in the sum', ['plan/lookup.ts', '    sum = add(sum, gx);\n', '']],
  ['phase L: helper gt not in the sum', ['plan/lookup.ts', '    sum = sub(sum, gt);\n', '']],
  [
    'phase L: gw not bound to its definition',
    ['plan/lookup.ts', 'brackets = add(brackets, mul(weights.witness', 'void add(brackets, mul(weights.witness'],
  ],
  [
    'phase L: gx not bound to its definition',
    ['plan/lookup.ts', 'brackets = add(brackets, mul(weights.maxima', 'void add(brackets, mul(weights.maxima'],
  ],
  [
    'phase L: a maximum need be none of its taps',
    ['plan/lookup.ts', 'brackets = add(brackets, mul(weights.product', 'void add(brackets, mul(weights.product'],
  ],
  [
    'phase L: gt not bound to its definition',
    ['plan/lookup.ts', 'brackets = add(brackets, mul(weights.table', 'void add(brackets, mul(weights.table'],
  ],
  [
    'phase L: brackets not drawn apart by tau',
    ['plan/lookup.ts', 'return add(sum, mul(eq, brackets));', 'return add(sum, brackets);'],
  ],
  [
    'phase L: all brackets with one weight',
    [
      'plan/lookup.ts',
      'const all = powersOver(field, lambda, 1 + witnessChunks + 2 * maxima + tableChunks).slice(1);',
      'const all = powersOver(field, lambda, 1 + witnessChunks + 2 * maxima + tableChunks).slice(1).map(() => lambda);',
    ],
  ],
  [
    'phase L: tags enter no fingerprint',
    ['plan/lookup.ts', 'const rangeTag = mul(beta2, of(RANGE_TAG));', 'const rangeTag = zero;'],
    ['plan/lookup.ts', 'mul(beta2, mask.tag)', 'zero'],
    ['plan/lookup.ts', 'mul(beta2, row.tag)', 'zero'],
    ['reference/reference-prover.ts', 'mul(beta2, BigInt(tag))', 'mul(0n, BigInt(tag))'],
  ],
  [
    'phase L: the output enters no fingerprint',
    ['plan/lookup.ts', 'add(values.q[c]!, mul(beta, y))', 'values.q[c]!'],
    ['plan/lookup.ts', 'add(row.a, mul(beta, b))', 'row.a'],
    ['reference/reference-prover.ts', 'add(a, mul(beta, b))', 'add(a, mul(0n, b))'],
  ],
  [
    'phase L: the quotient enters no fingerprint',
    ['plan/lookup.ts', 'add(values.q[c]!, mul(beta, y))', 'mul(beta, y)'],
    ['plan/lookup.ts', 'add(row.a, mul(beta, b))', 'mul(beta, b)'],
    ['plan/lookup.ts', 'const d0 = sub(alpha, add(values.r0[c]!, rangeTag));', 'const d0 = sub(alpha, rangeTag);'],
    ['plan/lookup.ts', 'const d1 = sub(alpha, add(values.r1[c]!, rangeTag));', 'const d1 = sub(alpha, rangeTag);'],
    ['plan/lookup.ts', 'sub(alpha, add(gap, rangeTag))', 'sub(alpha, add(mul(zero, gap), rangeTag))'],
    ['reference/reference-prover.ts', 'add(a, mul(beta, b))', 'add(mul(0n, a), mul(beta, b))'],
  ],
  [
    'phase L: the high limb is not looked up',
    ['plan/lookup.ts', 'mul(mask.requant, mul(add(d0, d1), d2))', 'mul(mask.requant, mul(d1, d2))'],
    ['reference/reference-prover.ts', 'for (const limb of [r0[i]!, r1[i]!])', 'for (const limb of [r0[i]!])'],
    ['prover/witness.ts', 'witness.m[range.offset + r1]!++;', ''],
  ],
  [
    'phase L: the low limb is not looked up',
    ['plan/lookup.ts', 'mul(mask.requant, mul(add(d0, d1), d2))', 'mul(mask.requant, mul(d0, d2))'],
    ['reference/reference-prover.ts', 'for (const limb of [r0[i]!, r1[i]!])', 'for (const limb of [r1[i]!])'],
    ['prover/witness.ts', 'witness.m[range.offset + r0]!++;', ''],
  ],
  [
    'rows that are none count',
    ['plan/lookup.ts', 'mul(row.valid, m)', 'm'],
    ['reference/reference-prover.ts', '!rows.valid[i] || ', ''],
  ],
  ['claims combined with one weight', ['plan/claims.ts', 'this.power = mul(this.power, this.points.lambda);', '']],
  [
    'operands combined with one weight',
    ['verifier/phases.ts', 'power = mul(power, gamma);', 'power = gamma;'],
    ['reference/reference-prover.ts', 'power = mul(power, gamma);', 'power = gamma;'],
  ],
  [
    'operands not opened',
    ['verifier/phases.ts', 'claim = add(claim, mul(power, value));', 'void value;'],
    ['verifier/phases.ts', 'entries.push({ scale: power, functionals });', 'void functionals;'],
    [
      'reference/reference-prover.ts',
      'entries.push({ scale: power, functionals: operandClaim(plan, term, side, rho).functionals });',
      'void rho;',
    ],
  ],
  [
    'everything linear not opened',
    ['verifier/phases.ts', 'let claim = messages.direct;', 'let claim = zero;'],
    [
      'verifier/phases.ts',
      'const entries: OpeningEntry<E>[] = [{ scale: one, functionals: claims.direct }];',
      'const entries: OpeningEntry<E>[] = [];',
    ],
    [
      'reference/reference-prover.ts',
      'const entries: OpeningEntry[] = [{ scale: 1n, functionals: claims.direct }];',
      'const entries: OpeningEntry[] = [];',
    ],
  ],
  [
    'constants of operands forgotten',
    ['verifier/phases.ts', 'sub(i === 0 ? p : q, constant)', 'sub(i === 0 ? p : q, mul(zero, constant))'],
  ],
  ['terms of phase A not halved', ['verifier/phases.ts', 'const HALF = inverse(2n);', 'const HALF = inverse(1n);']],
  [
    'shared weights left out',
    ['verifier/phases.ts', 'sharedWeightAt(plan, term, rho)', '((_: unknown) => one)(sharedWeightAt(plan, term, rho))'],
  ],
  [
    'the remainder is not part of the relation',
    ['plan/claims.ts', 'atWitness(values.q)), remainder)', 'atWitness(values.q)), mul(zero, remainder))'],
  ],
  [
    'graphs number their tables each for itself',
    [
      'program/tables.ts',
      'tagOf: (group, table) => tag(indices[group]![table]!)',
      'tagOf: (_group, table) => FIRST_TAG + table',
    ],
  ],
  [
    'one tag for all tables',
    [
      'program/tables.ts',
      'const tag = (index: number): number => FIRST_TAG + index;',
      'const tag = (index: number): number => FIRST_TAG + 0 * index;',
    ],
  ],
  [
    'a program is not part of its key',
    [
      'verifier/model-key.ts',
      'concatBytes(TAG, srsId, programHash(program), ...commitments)',
      'concatBytes(TAG, srsId, ...commitments)',
    ],
  ],
  [
    'commitments are not part of their key',
    [
      'verifier/model-key.ts',
      'concatBytes(TAG, srsId, programHash(program), ...commitments)',
      'concatBytes(TAG, srsId, programHash(program))',
    ],
  ],
  [
    'the SRS is not part of the key',
    [
      'verifier/model-key.ts',
      'concatBytes(TAG, srsId, programHash(program), ...commitments)',
      'concatBytes(TAG, programHash(program), ...commitments)',
    ],
  ],
  [
    'an SRS that only begins like another',
    ['verifier/verify-proof.ts', ' || key.srsId.length !== scheme.srsId.length', ''],
  ],
  ['public integers may lie below their range', ['verifier/statement.ts', 'v < lo || v > hi', 'v > hi']],
  ['public integers may lie above their range', ['verifier/statement.ts', 'v < lo || v > hi', 'v < lo']],
  [
    'the context is another message',
    [
      'verifier/statement.ts',
      "transcript.absorbBytes('context', context.bound)",
      "transcript.absorbBytes('context', context.srsId)",
    ],
  ],
  [
    'a round is drawn before it is absorbed',
    [
      'verifier/sumcheck.ts',
      'transcript.absorbScalars(`${label} round`, coefficients);\n      const r = transcript.challenge(`${label} point`);\n',
      'const r = transcript.challenge(`${label} point`);\n      transcript.absorbScalars(`${label} round`, coefficients);\n',
    ],
    [
      'reference/reference-sumcheck.ts',
      '    transcript.absorbScalars(`${label} round`, sent);\n    const r = transcript.challenge(`${label} point`);\n',
      '    const r = transcript.challenge(`${label} point`);\n    transcript.absorbScalars(`${label} round`, sent);\n',
    ],
  ],
  [
    'beta is alpha',
    ['verifier/phases.ts', "const beta = transcript.challenge('beta');", 'const beta = alpha;'],
    ['reference/reference-prover.ts', "const beta = transcript.challenge('beta');", 'const beta = alpha;'],
  ],
];

function written(read: ReadSource): Mutation[] {
  return WRITTEN.map(([name, ...edits]) => ({
    name,
    edits: edits.map(([file, find, by]) => {
      const source = read(file);
      const from = source.indexOf(find);
      if (from < 0 || source.indexOf(find, from + 1) >= 0)
        throw new Error(`mutation '${name}': '${find}' stands not exactly once in ${file}`);
      return { file, from, to: from + find.length, by };
    }),
  }));
}

export const allMutations = (read: ReadSource): Mutation[] => [
  ...refusals(read),
  ...absorbs(read),
  ...claims(read),
  ...written(read),
];

/** The source with the edits of a file made, from the end on. */
export function mutate(source: string, edits: readonly Edit[]): string {
  return [...edits]
    .sort((a, b) => b.from - a.from)
    .reduce((text, { from, to, by }) => text.slice(0, from) + by + text.slice(to), source);
}
