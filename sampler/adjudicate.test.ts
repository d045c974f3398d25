import { id } from 'ethers';
import { describe, expect, it } from 'vitest';
import type { Hex } from '../receipts/types.js';
import { adjudicate, differingRoots, type Answer, type Roots } from './adjudicate.js';
import type { Party } from './rank-checkers.js';

const party = (name: string): Party => ({
  address: id(name).slice(0, 42) as Hex,
  operator: name,
  engine: `${name} engine`,
});
const roots = (output: string): Roots => ({
  inputRoot: id('input') as Hex,
  outputRoot: id(output) as Hex,
  traceRoot: id(`trace ${output}`) as Hex,
});
const executor = (output: string) => ({ party: party('executor'), roots: roots(output) });
const said = (name: string, output: string): Answer => ({ kind: 'result', party: party(name), roots: roots(output) });
const silent = (name: string): Answer => ({ kind: 'silent', party: party(name), reason: 'ECONNRESET' });

describe('adjudicate', () => {
  it.each<[string, ReturnType<typeof executor>, Answer, Answer | undefined, string, string | null, boolean]>([
    ['checker agrees', executor('a'), said('checker', 'a'), undefined, 'valid', null, false],
    ['checker differs, nobody else asked', executor('a'), said('checker', 'b'), undefined, 'undetermined', null, true],
    [
      'third agrees with the checker',
      executor('a'),
      said('checker', 'b'),
      said('third', 'b'),
      'invalid',
      'executor',
      false,
    ],
    [
      'third agrees with the executor',
      executor('a'),
      said('checker', 'b'),
      said('third', 'a'),
      'valid',
      'checker',
      false,
    ],
    ['three results', executor('a'), said('checker', 'b'), said('third', 'c'), 'undetermined', null, false],
    ['checker silent', executor('a'), silent('checker'), undefined, 'undetermined', null, false],
    [
      'checker silent, third differs',
      executor('a'),
      silent('checker'),
      said('third', 'b'),
      'undetermined',
      null,
      false,
    ],
    ['third silent', executor('a'), said('checker', 'b'), silent('third'), 'undetermined', null, true],
  ])('%s', (_name, claim, checker, third, verdict, faulty, needsThird) => {
    const result = adjudicate(claim, checker, third);
    expect(result.verdict.verdict).toBe(verdict);
    expect(result).toMatchObject({ faulty, needsThird });
  });

  it.each(['inputRoot', 'outputRoot', 'traceRoot'] as const)(
    'a differing %s alone is a difference, and is named',
    (root) => {
      const other = { ...roots('a'), [root]: id('other') as Hex };
      expect(differingRoots(roots('a'), other)).toEqual([root]);
      const answer = (name: string): Answer => ({ kind: 'result', party: party(name), roots: other });
      expect(adjudicate(executor('a'), answer('checker'), answer('third'))).toMatchObject({
        faulty: 'executor',
        verdict: { verdict: 'invalid', reason: expect.stringContaining(root) },
      });
    },
  );

  it('nobody speaks twice, under his address or his operator', () => {
    const refused = expect.objectContaining({ code: 'PARTY_REPEATED' });
    expect(() => adjudicate(executor('a'), said('executor', 'a'))).toThrow(refused);
    expect(() => adjudicate(executor('a'), said('checker', 'b'), said('checker', 'b'))).toThrow(refused);
    const disguised: Answer = { kind: 'result', party: { ...party('third'), operator: 'checker' }, roots: roots('b') };
    expect(() => adjudicate(executor('a'), said('checker', 'b'), disguised)).toThrow(refused);
  });
});
