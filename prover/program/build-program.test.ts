/** What a graph becomes: exact constants, programs without weights, refusals that name their node. */
import { bytesToHex } from '@noble/hashes/utils.js';
import { describe, expect, it } from 'vitest';
import { GraphBuilder } from '../../graph/integer/builder.js';
import { Draw } from '../audit/draw.js';
import { CASE_KINDS, randomGraphOf } from '../audit/cases.js';
import { buildProgram } from './build-program.js';
import { programHash } from './encode-program.js';
import type { Program } from './types.js';

const hashOf = (program: Program): string => bytesToHex(programHash(program));

describe('a program', () => {
  it('keeps constants that a double holds', () => {
    for (const kind of CASE_KINDS)
      for (let seed = 1; seed <= 3; seed++)
        for (const values of buildProgram(randomGraphOf(kind, new Draw(kind, seed))).modelValues)
          expect(values.every((v) => Number.isSafeInteger(v))).toBe(true);
  });

  it('refuses a constant that its multiplier carries beyond 2^53, though the sum stays small', () => {
    // (x + b) - (z + b'): the large constants cancel, so that the bound of the sum says nothing about them.
    const builder = new GraphBuilder();
    const shifted = (name: string, b: number): number => {
      const x = builder.addInput(name, [1], { lo: 0, hi: 1 }, 1, 0);
      const bias = { shape: [], data: Int32Array.of(b) };
      return builder.add({ kind: 'combine', name: `${name} shifted`, terms: [{ x, coefficient: 1 }], bias });
    };
    const terms = [
      { x: shifted('x', 2 ** 30 - 1), coefficient: 1 },
      { x: shifted('z', 2 ** 30 - 3), coefficient: -1 },
    ];
    const x = builder.add({ kind: 'combine', name: 'difference', terms, bias: null });
    const multipliers = Int32Array.of(2 ** 28 - 1);
    const q = builder.quotientRange(x, multipliers, null);
    const table = { kind: 'clamp', qLo: q.lo, qHi: q.hi, lo: 0, hi: 127 } as const;
    const y = builder.add({ kind: 'requant', name: 'small', x, multipliers, channelAxis: null, table });
    expect(() => buildProgram(builder.finish('cancelling', [y]))).toThrow(/'small'.*beyond 2\^53/);
  });

  it('is the same for other weights of the same network', () => {
    const graphOf = (weight: number): ReturnType<GraphBuilder['finish']> => {
      const builder = new GraphBuilder();
      const x = builder.addInput('x', [2], { lo: 0, hi: 7 }, 1, 0);
      const y = builder.add({
        kind: 'matmul',
        name: 'dense',
        x,
        inFeatures: 2,
        outFeatures: 2,
        weight: Int8Array.of(1, 2, 3, weight),
        bias: Int32Array.of(weight, 1),
      });
      return builder.finish('dense', [y]);
    };
    const [a, b] = [buildProgram(graphOf(4)), buildProgram(graphOf(5))];
    expect(a.modelValues).not.toEqual(b.modelValues);
    // The declared range of the output is of the weights; nothing else is.
    const same = { ...b.program, outputs: a.program.outputs };
    expect(hashOf(same)).toBe(hashOf(a.program));
  });

  it('refuses an index that other nodes read, naming the node', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [4], { lo: 0, hi: 7 }, 1, 0);
    const label = builder.add({ kind: 'argMax', name: 'label', x, axis: 0 });
    const y = builder.add({ kind: 'combine', name: 'next', terms: [{ x: label, coefficient: 1 }], bias: null });
    expect(() => buildProgram(builder.finish('indexed', [y]))).toThrow(/argMax node 'label'/);
  });
});
