/** The layout, field by field; that a contract reads the same is tested in verifier-contracts/opening. */
import { bytesToHex } from '@noble/hashes/utils.js';
import { describe, expect, it } from 'vitest';
import { programHash } from '../program/encode-program.js';
import type { Program } from '../program/types.js';
import type { GroupStatement } from '../verifier/statement.js';
import { encodeDirectEvidence, type CommittedPorts } from './direct-evidence.js';

const program: Program = {
  witness: [{ name: 'x', axes: [2, 3] }],
  model: [],
  tables: [{ kind: 'input', lo: -128, hi: 127 }],
  inputs: [{ slot: 0, table: 0, cellBits: 8 }],
  requants: [],
  maxima: [],
  outputs: [{ range: { lo: -300, hi: 300 }, argMaxAxis: 0, expression: { axes: [3], linear: [], products: [] } }],
  modelBits: 8,
};
const group: GroupStatement = {
  key: {
    roots: { graphRoot: `0x${'11'.repeat(32)}`, weightsRoot: `0x${'22'.repeat(32)}`, opCount: 7 },
    srsId: new Uint8Array(32),
    program,
    commitments: [new Uint8Array(64).fill(0x33), new Uint8Array(64).fill(0x44)],
  },
  items: 2,
  inputs: [Int32Array.of(-1, -2, -3, -4, -5, -6, 1, 2, 3, 4, 5, 6)],
  outputs: [Int32Array.of(-300, 300, 0, 1, 2, -1)],
};
const ports: CommittedPorts = {
  inputs: [{ shape: [2, 3], range: { lo: -128, hi: 127 }, layout: [1, 0] }],
  outputs: [{ shape: [1], range: { lo: 0, hi: 2 }, layout: [0] }],
};
const context = new Uint8Array(32).fill(0xaa);
const proof = Uint8Array.from({ length: 12 }, (_, i) => 0xf0 + i);

describe('evidence for a contract', () => {
  it('is its fields in their order, and nothing else', () => {
    const fields = [
      'aa'.repeat(32),
      '11'.repeat(32),
      '22'.repeat(32),
      bytesToHex(programHash(program)),
      '00000007',
      '00000002',
      // n, the last byte of the proof's header.
      'fa',
      '33'.repeat(64),
      '44'.repeat(64),
      // Header: lo, hi, rank, sides, layout, items, chunks; then the elements in the order of the layout.
      'ffffff80' + '0000007f' + '02' + '00000002' + '00000003' + '0100' + '00000002' + '00000001',
      'fffcfefbfdfa' + '010402050306',
      // Header of the labels; then what is published, four bytes each.
      '00000000' + '00000002' + '01' + '00000001' + '00' + '00000002' + '00000001',
      'fffffed4' + '0000012c' + '00000000' + '00000001' + '00000002' + 'ffffffff',
      'f0f1f2f3f4f5f6f7f8f9fafb',
    ];
    expect(bytesToHex(encodeDirectEvidence(group, ports, context, proof))).toBe(fields.join(''));
  });

  it('is refused for a context that is no hash and for ports of another graph', () => {
    for (const length of [0, 31, 33])
      expect(() => encodeDirectEvidence(group, ports, new Uint8Array(length), proof)).toThrow('32 bytes');
    for (const side of ['inputs', 'outputs'] as const)
      for (const own of [[], [ports[side][0]!, ports[side][0]!]])
        expect(() => encodeDirectEvidence(group, { ...ports, [side]: own }, context, proof)).toThrow('ports for');
  });
});
