/** Every evidence that differs from a given one in one field: what a false accuser may try. */
import type { StepEvidence } from '../../../verifier-contracts/dispute-types.js';

type Tree = string | number | bigint | readonly Tree[] | { readonly [key: string]: Tree };

const flip = (hex: string, at: number): string => {
  const digit = (parseInt(hex[at]!, 16) ^ 1).toString(16);
  return hex.slice(0, at) + digit + hex.slice(at + 1);
};

function* mutants(value: Tree, key: string): Generator<Tree> {
  if (typeof value === 'bigint') {
    yield value + 1n;
    yield value - 1n;
  } else if (typeof value === 'number') {
    yield value + 1;
    if (value > 0) yield value - 1;
    yield 2 ** (key === 'ordinal' ? 8 : 32) - 1;
  } else if (typeof value === 'string') {
    if (!value.startsWith('0x')) return;
    // The first, the last and some byte of it, and another length where it has no fixed one.
    for (const at of new Set([3, 2 + 2 * Math.floor((value.length - 2) / 4), value.length - 1]))
      if (at >= 2 && at < value.length) yield flip(value, at);
    if (['elements', 'encoded', 'header'].includes(key)) {
      yield `${value}00`;
      if (value.length > 4) yield value.slice(0, -2);
      yield '0x';
    }
  } else if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      for (const mutant of mutants(value[i] as Tree, key)) yield value.with(i, mutant);
      yield [...value.slice(0, i), ...value.slice(i + 1)];
      yield [...value.slice(0, i), value[i] as Tree, ...value.slice(i)];
      if (i > 0) yield value.with(i, value[i - 1]).with(i - 1, value[i]);
    }
  } else {
    const object = value as { readonly [key: string]: Tree };
    for (const field of Object.keys(object))
      for (const mutant of mutants(object[field]!, field)) yield { ...object, [field]: mutant };
  }
}

export function mutatedEvidence(evidence: StepEvidence): Generator<StepEvidence> {
  return mutants(evidence as unknown as Tree, '') as unknown as Generator<StepEvidence>;
}
