/** The bytes of a program say everything about it but names: any change of a number changes them. */
import { bytesToHex } from '@noble/hashes/utils.js';
import { describe, expect, it } from 'vitest';
import { CASE_KINDS, randomGraphOf } from '../audit/cases.js';
import { Draw } from '../audit/draw.js';
import { buildProgram } from './build-program.js';
import { encodeProgram, programHash } from './encode-program.js';
import type { Program } from './types.js';

const hashOf = (program: Program): string => bytesToHex(programHash(program));

type Path = (string | number)[];

/** Every leaf of a value, with the way to it; names are no leaves. */
function* leaves(value: unknown, path: Path = []): Generator<[Path, unknown]> {
  if (value !== null && typeof value === 'object') {
    for (const [key, inner] of Object.entries(value))
      if (key !== 'name') yield* leaves(inner, [...path, Array.isArray(value) ? Number(key) : key]);
  } else yield [path, value];
}

function* lists(value: unknown, path: Path = []): Generator<Path> {
  if (value === null || typeof value !== 'object') return;
  if (Array.isArray(value) && value.length > 0) yield path;
  for (const [key, inner] of Object.entries(value))
    yield* lists(inner, [...path, Array.isArray(value) ? Number(key) : key]);
}

function changed(program: Program, path: Path, change: (old: unknown) => unknown): Program {
  const copy = structuredClone(program);
  let at = copy as unknown as Record<string | number, unknown>;
  for (const key of path.slice(0, -1)) at = at[key] as typeof at;
  const last = path.at(-1)!;
  at[last] = change(at[last]);
  return copy;
}

const programOf = (kind: (typeof CASE_KINDS)[number], seed: number): Program =>
  buildProgram(randomGraphOf(kind, new Draw(kind, seed))).program;

describe('the bytes of a program', () => {
  it('change with every number, flag and kind in it', () => {
    for (const kind of CASE_KINDS) {
      const draw = new Draw('leaves', 1);
      const program = programOf(kind, 1);
      const hash = hashOf(program);
      const all = [...leaves(program)];
      // Long lists of entries are alike: some of them.
      for (const [path, value] of all.length > 400 ? draw.shuffled(all).slice(0, 400) : all) {
        const where = `${kind}: ${path.join('.')}`;
        if (path.at(-1) === 'kind') {
          const other = path.includes('source') ? { witness: 'model', model: 'witness', one: 'model' } : null;
          if (other) {
            const next = changed(program, path, (old) => other[old as keyof typeof other]);
            if (value !== 'one') expect(hashOf(next), where).not.toBe(hash);
          }
        } else if (path.at(-1) === 'entries') {
          expect(value, where).toBeNull();
          expect(hashOf(changed(program, path, () => [])), where).not.toBe(hash);
        } else {
          const next = changed(program, path, (old) =>
            typeof old === 'bigint'
              ? old + 1n
              : typeof old === 'boolean'
                ? !old
                : old === null
                  ? 0
                  : (old as number) + 1,
          );
          // Differences of targets may not fall.
          const bytes = path.includes('entries') && path.at(-1) === 't' ? null : hashOf(next);
          if (bytes) expect(bytes, where).not.toBe(hash);
        }
      }
    }
  });

  it('change with the length and the order of every list', () => {
    for (const kind of CASE_KINDS) {
      const program = programOf(kind, 1);
      const hash = hashOf(program);
      for (const path of lists(program)) {
        if (path.includes('entries')) continue;
        const where = `${kind}: ${path.join('.')}`;
        expect(hashOf(changed(program, path, (old) => (old as unknown[]).slice(1))), where).not.toBe(hash);
        expect(hashOf(changed(program, path, (old) => [(old as unknown[])[0], ...(old as unknown[])])), where).not.toBe(
          hash,
        );
      }
    }
  });

  it('are the same for the same graph, whatever its tensors are called', () => {
    for (const kind of CASE_KINDS) {
      const program = programOf(kind, 2);
      expect(encodeProgram(programOf(kind, 2))).toEqual(encodeProgram(program));
      const renamed = { ...program, witness: program.witness.map((slot) => ({ ...slot, name: 'other' })) };
      expect(hashOf(renamed)).toBe(hashOf(program));
    }
  });

  it('differ between different graphs', () => {
    const seen = new Map<string, string>();
    for (const kind of CASE_KINDS)
      for (let seed = 1; seed <= 4; seed++) {
        const program = programOf(kind, seed);
        const hash = hashOf(program);
        const text = JSON.stringify(program, (key, value: unknown) =>
          key === 'name' ? undefined : typeof value === 'bigint' ? `${value}n` : value,
        );
        expect(seen.get(hash) ?? text).toBe(text);
        seen.set(hash, text);
      }
    expect(seen.size).toBeGreaterThan(CASE_KINDS.length);
  });
});
