/**
 * The attacks that the literature on proofs of inference and the review of this protocol name, and what answers each:
 * families of the audit, tests, or the reason why the protocol has no place for it.
 */
export interface KnownAttack {
  readonly attack: string;
  /** Names in FAMILIES. */
  readonly families?: readonly string[];
  /** Test files under prover/, each with part of the name of a test in it. */
  readonly tests?: readonly (readonly [string, string])[];
  readonly noPlace?: string;
}

const SOLVED = [
  'y',
  'q',
  'r0, compensated by q',
  'r1, compensated by q',
  'gw',
  'gx',
  'm',
  'gt',
  'the committed table',
  'tap 0',
  'tap 1',
  'tap 2',
  'tap 3',
].map((name) => `a false cell, phase L solved for ${name}`);

export const KNOWN_ATTACKS: readonly KnownAttack[] = [
  // Found in other systems of proved inference.
  {
    attack: 'an operator is a hint without constraint',
    families: ['output of an operator off by one, everything after it consistent'],
  },
  {
    attack: 'a range is enforced by the witness code alone',
    families: [
      'limbs carried: low + 4096, high - 1',
      'limbs carried: low - 4096, high + 1',
      'output p - 1, p/2 or 2^63, as a field element',
    ],
  },
  {
    attack: 'a part of the proof is not looked at',
    families: ['a scalar of the proof + 1', 'a bit of a commitment', 'a bit of the opening'],
  },
  {
    attack: 'the remainder of a division is not bounded',
    families: ['quotient + 1, remainder - 2^24', 'quotient - 1, remainder + 2^24'],
  },
  {
    attack: 'a quotient wraps around the modulus',
    families: [
      'any quotient of the table, the high limb divides mod r',
      'any quotient of the table, the low limb takes the rest',
    ],
  },
  {
    attack: 'inputs are not range-checked',
    families: [
      'a public integer out of its range',
      'an input cell that its table does not hold',
      'input bytes that borrow from their neighbour inside a word',
    ],
  },
  {
    attack: 'saturation in the runtime and not in the proof',
    families: [
      'output that is not in its row',
      'another function: one attribute or constant of one operator changed in the trace',
    ],
  },
  {
    attack: 'two answers of a rounding',
    families: ['quotient + 1, remainder - 2^24', 'output of another row of its table'],
  },
  {
    attack: 'ties of an arg-max are free',
    noPlace: 'the arg-max is no part of a proof: whoever checks computes it from the published tensor',
  },
  {
    attack: 'a maximum is only a bound, or only a member',
    families: [
      'a maximum above all of its taps',
      'a smaller tap given as the maximum',
      'a maximum of padding: 0 where all taps are below',
    ],
  },
  {
    attack: 'the prover chooses the table of a lookup',
    families: ['the pair of another table of the proof'],
    tests: [['audit/breaks.test.ts', 'numbered their tables each for itself']],
  },
  {
    attack: 'the ends of a table are off by one',
    tests: [['program/tables.test.ts', 'equal the rows written out']],
    families: ['an input cell that its table does not hold'],
  },
  {
    attack: 'the table itself is free',
    families: [
      'a false cell, phase L solved for the committed table',
      'another model: its weights, biases and tables proved under the key of the first',
    ],
  },
  {
    attack: 'multiplicities are drawn after the challenge',
    families: ['multiplicities changed when the challenges are known', 'a row counted once too often'],
  },
  {
    attack: 'public input outside the transcript',
    families: ['a public input off by one', 'a public output off by one'],
    tests: [['verifier/inventory.test.ts', 'absorbs every word']],
  },
  {
    attack: 'rounds or claimed values outside the transcript',
    tests: [
      ['verifier/inventory.test.ts', 'absorbs every word'],
      ['verifier/inventory.test.ts', 'committed inventory'],
    ],
  },
  {
    attack: 'false claims that cancel under known weights',
    families: [
      'two false values that cancel: D + 1 and a round - 1',
      'a false cell, phase L solved for y, compensated by gw',
      'a false cell, phase L solved for m, compensated by gt',
      'a false output, phase A solved for P and Q with their sum kept',
    ],
  },
  {
    attack: 'a proof of one operator taken as one of another',
    families: [
      'the key with another program',
      'the program of another operator: clamp for clamp of other bounds, proved for',
    ],
  },
  {
    attack: 'one part of a proof used twice',
    families: [
      'commitments swapped',
      'helper commitments swapped',
      'a commitment replaced by another, or by 0',
      'operands swapped',
    ],
  },
  {
    attack: 'the verifier trusts the shape of the proof',
    families: [
      'bytes more or fewer',
      'commitments of the key more or fewer',
      'public tensors of another length or number',
    ],
  },
  {
    attack: 'one of several readers of a tensor is not checked',
    families: ['output of an operator off by one, everything after it consistent'],
    tests: [['plan/coefficients.test.ts', 'operands at a random point']],
  },
  {
    attack: 'weights are not bound',
    families: ['another model: its weights, biases and tables proved under the key of the first', 'a bit of the key'],
  },
  {
    attack: 'lists of unequal length are cut to the shorter',
    families: ['public tensors of another length or number', 'commitments of the key more or fewer'],
  },
  {
    attack: 'the verifier crashes on bytes',
    families: ['random bytes in the form of a proof', 'bytes more or fewer', 'a byte of the header'],
  },
  {
    attack: 'encodings that are not canonical',
    families: ['a scalar of the proof + r, not canonical', 'a scalar of the proof 2^256 - 1', 'bytes more or fewer'],
  },
  { attack: 'another SRS on the way', families: ['the key of another SRS'] },
  { attack: 'tolerances that add up', noPlace: 'every relation is exact; there is no tolerance' },
  // The review of the protocol.
  {
    attack: 'garbage in padding is accepted and inert',
    tests: [['verifier/honest.test.ts', 'whatever stands in padding']],
  },
  { attack: 'the pair of a padding row of a table', families: ['an illegal pair counted on a row that is none'] },
  { attack: 'tags exchanged between tables of one size', families: ['the pair of another table of the proof'] },
  {
    attack: 'a helper that is not 0 on padding',
    families: [
      'gw moved between two cells, its sum kept',
      'a false output, and gw closes the sum on a cell that is none',
    ],
  },
  {
    attack: 'helpers that satisfy their definitions only in sum',
    families: ['helpers that satisfy their definitions only in sum'],
  },
  {
    attack: 'convolution padded by another value than 0',
    families: ['the padding of a convolution of another value than 0'],
  },
  {
    attack: 'overlapping pooling windows with padded taps',
    families: ['a maximum of padding: 0 where all taps are below'],
  },
  { attack: 'a flatten of another layout', families: ['the elements of a reshape in another order'] },
  {
    attack: 'the bias cell of a view',
    noPlace: 'biases are tensors of the model key with a claim of their own; no view has a cell for them',
  },
  {
    attack: 'a free padding cell read through a contracted axis',
    tests: [['audit/breaks.test.ts', 'read without their mask']],
  },
  {
    attack: 'one of two equal operands altered',
    families: ['a false output, proved as if it were true'],
    noPlace: 'operands of sums have no values of their own: everything linear is one value',
  },
  {
    attack: 'words of another input completed by padding',
    families: ['words of another input, completed by padding cells'],
    tests: [['audit/breaks.test.ts', 'weights of words had no mask']],
  },
  {
    attack: 'a word of 2^128 or more, an output plus r',
    noPlace: 'a statement holds int32 values; the verifier packs the words itself',
    families: ['a public integer out of its range'],
  },
  { attack: 'a digest with another key', families: ['the digest of another model', 'a bit of the key'] },
  {
    attack: 'the key opened under another column size',
    families: ['a key whose columns are of another size', 'one n more or less'],
  },
  {
    attack: 'an item beyond the batch',
    families: [
      'more or fewer items',
      'items exchanged in the outputs',
      'a false output, and the free cells of every slot filled to make it up',
    ],
  },
  { attack: 'every value at the end of phase L unbound in turn', families: SOLVED },
  { attack: 'q and r0 wrong, their sum right', families: ['a false cell, phase L solved for r0, compensated by q'] },
  {
    attack: 'phase L adapted in every round',
    families: [
      'a false cell, phase L solved for q, then phase A for the value of everything linear',
      'a false cell, phase L solved for q, then phase A for an operand',
    ],
  },
  {
    attack: 'operands (2P, Q/2) and (Q, P)',
    families: ['true operands given as (2P, Q/2), or as (Q, P)', 'operands (2P, Q/2)', 'operands swapped'],
  },
  {
    attack: 'other weights or biases',
    families: ['another function: one attribute or constant of one operator changed in the trace'],
  },
  {
    attack: 'outputs of another input, inputs of other outputs',
    families: [
      'the outputs of another input',
      'the inputs of other outputs',
      'a proof of another model, item or input',
    ],
  },
  { attack: 'a proof under another context', families: ['another context'] },
];
