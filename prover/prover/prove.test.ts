/** The fast prover says byte for byte what the reference prover says, and its proofs verify. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CASE_KINDS, randomCase, type AuditGroup } from '../audit/cases.js';
import { Draw } from '../audit/draw.js';
import { mercuryProver } from '../opening/mercury-prover.js';
import { wasmBackend } from '../opening/wasm-backend.js';
import { referenceProve, type ReferenceCommitter } from '../reference/reference-prover.js';
import { developmentSrs } from '../srs/development-cache.js';
import { openingKey } from '../srs/srs.js';
import { kzgScheme, SCHEME_CODE } from '../verifier/kzg-scheme.js';
import type { CommitmentScheme } from '../verifier/scheme.js';
import type { Statement } from '../verifier/statement.js';
import { verifyProof } from '../verifier/verify-proof.js';
import { kzgCommitter } from '../testing/kzg-committer.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { openArithmetic } from '../wasm/node-arithmetic.js';
import { makeModelKey } from './make-key.js';
import { chooseColumnBits } from './predict.js';
import { proveStatement, type ProverSetup } from './prove.js';

const LARGEST = 13;
let arithmetic: Arithmetic;
let setup: ProverSetup;
let scheme: CommitmentScheme;
let committer: ReferenceCommitter;

beforeAll(async () => {
  arithmetic = await openArithmetic({ threads: 2 });
  const srs = developmentSrs(2 ** LARGEST, { arithmetic });
  const backend = wasmBackend(arithmetic, srs);
  setup = {
    arithmetic,
    backend,
    scheme: { name: 'mercury', code: SCHEME_CODE.mercury, prover: mercuryProver },
  };
  scheme = kzgScheme('mercury', openingKey(srs));
  committer = kzgCommitter(arithmetic, backend);
});
afterAll(() => arithmetic?.close());

function statementOf(groups: readonly AuditGroup[]): Statement {
  return {
    groups: groups.map(({ built, items, inputs, values, graph }) => ({
      key: makeModelKey({ graph, inputs: graph.inputs.map(port), outputs: graph.outputs.map(port) }, built, setup),
      items,
      inputs,
      outputs: built.published.map((id) => values[id]!),
    })),
  };
  function port(_id: number, index: number): { name: string; type: 'int32'; shape: number[]; batched: boolean } {
    return { name: `p${index}`, type: 'int32', shape: [1], batched: true };
  }
}

async function compare(groups: readonly AuditGroup[], n?: number): Promise<void> {
  const statement = statementOf(groups);
  const witnesses = groups.map(({ built, values }) => ({ built, tensor: (id: number) => values[id]! }));
  const bits = n ?? chooseColumnBits(groups.map(({ built, items }) => ({ program: built.program, items })));
  const bound = Uint8Array.of(7);
  const { proof } = proveStatement(statement, witnesses, bits, setup, bound);
  verifyProof(statement, proof, scheme, bound);
  expect(proof).toEqual(await referenceProve(statement, witnesses, bits, committer, bound));
}

describe('the fast prover equals the reference prover', () => {
  it.each(CASE_KINDS)('%s', async (kind) => {
    await compare([randomCase(kind, new Draw('fast', 11))]);
  });

  it('on a joint proof of three graphs', async () => {
    await compare(
      (['convLayers', 'maxPool', 'attentionHeads'] as const).map((kind) => randomCase(kind, new Draw('joint', 20))),
    );
  });

  it('on one thread as on two', async () => {
    const groups = [randomCase('network', new Draw('threads', 31))];
    const statement = statementOf(groups);
    const witnesses = groups.map(({ built, values }) => ({ built, tensor: (id: number) => values[id]! }));
    const n = chooseColumnBits(groups.map(({ built, items }) => ({ program: built.program, items })));
    const alone = await openArithmetic({ threads: 1 });
    const srs = developmentSrs(2 ** n, { arithmetic: alone });
    const single = {
      ...setup,
      arithmetic: alone,
      backend: wasmBackend(alone, srs),
    };
    expect(proveStatement(statement, witnesses, n, single).proof).toEqual(
      proveStatement(statement, witnesses, n, setup).proof,
    );
    await alone.close();
  });
});
