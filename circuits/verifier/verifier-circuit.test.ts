/**
 * The verifier over wires against the verifier over numbers: on random joint jobs of every operator kind the wires give the
 * x that the prover computed, and a change of anything that they are given breaks a check, or ends in another claim about the columns. Then the whole circuit of a
 * shipped model through circom: public signals, tampered witnesses, wires that nothing determines, its size.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compileModel, encodeInputs, readOnnx } from '../../graph/index.js';
import { calibrationSamples, heldOutSamples, shippedModel } from '../../models/index.js';
import { CASE_KINDS, randomCase, type AuditGroup } from '../../prover/audit/cases.js';
import { Draw } from '../../prover/audit/draw.js';
import { add } from '../../prover/field/fr.js';
import { mercuryProver } from '../../prover/opening/mercury-prover.js';
import { wasmBackend } from '../../prover/opening/wasm-backend.js';
import { makeModelKey } from '../../prover/prover/make-key.js';
import { proveWith, type ProverSetup } from '../../prover/prover/prove.js';
import { ZkProver } from '../../prover/prover/zk-prover.js';
import { developmentSrs } from '../../prover/srs/development-cache.js';
import { SCHEME_CODE } from '../../prover/verifier/kzg-scheme.js';
import type { Arithmetic } from '../../prover/wasm/arithmetic.js';
import { openArithmetic } from '../../prover/wasm/node-arithmetic.js';
import type { BatchPlace } from '../batch/joined.js';
import { joinProof, proveJoint } from '../batch/prove-joint.js';
import type { BatchShape } from '../batch/types.js';
import { compileCircuit } from '../compile/compile-circuit.js';
import { circuitSize } from '../r1cs/circuit-size.js';
import { readR1cs } from '../r1cs/read-r1cs.js';
import { undeterminedWires } from '../r1cs/undetermined-wires.js';
import { violatedConstraint } from '../r1cs/violated-constraint.js';
import type { CircuitInputs } from '../snarkjs/types.js';
import { witnessOf } from '../testing/test-circuit.js';
import { buildVerifierCircuit, INPUT_NAMES } from './build-circuit.js';
import { verifierSources } from './render-circuit.js';
import { runWires } from './testing/run-wires.js';

const BITS = 14;
const place: BatchPlace = {
  chainId: 31337,
  contract: `0x${'11'.repeat(20)}`,
  keyHash: new Uint8Array(32).fill(7),
  srsId: new Uint8Array(32).fill(9),
};
let arithmetic: Arithmetic;
let setup: ProverSetup;
let prover: ZkProver;

beforeAll(async () => {
  arithmetic = await openArithmetic({ threads: 2 });
  const srs = developmentSrs(2 ** BITS, { arithmetic });
  const backend = wasmBackend(arithmetic, srs);
  setup = { arithmetic, backend, scheme: { name: 'mercury', code: SCHEME_CODE.mercury, prover: mercuryProver } };
  prover = new ZkProver({ arithmetic, srs });
});
afterAll(() => arithmetic?.close());

/** A joint proof of random groups, each receipt of as many items as the group's batch has. */
function joint(groups: readonly AuditGroup[], receipts: readonly number[]) {
  const shape: BatchShape = {
    n: BITS,
    groups: groups.map(({ built, items }, g) => ({
      program: built.program,
      receipts: receipts[g]!,
      itemsPerReceipt: items / receipts[g]!,
    })),
  };
  const port = { name: 'p', type: 'int32', shape: [1], batched: true } as const;
  const statement = {
    groups: groups.map(({ built, items, inputs, values, graph }) => ({
      key: makeModelKey(
        { graph, inputs: graph.inputs.map(() => port), outputs: graph.outputs.map(() => port) },
        built,
        setup,
      ),
      items,
      inputs,
      outputs: built.published.map((id) => values[id]!),
    })),
  };
  const joining = joinProof(shape, statement, place, []);
  const witnesses = groups.map(({ built, values }) => ({ built, tensor: (id: number) => values[id]! }));
  const { phases } = proveWith(statement, witnesses, BITS, setup, joining.protocol);
  return { circuit: buildVerifierCircuit(shape), proof: joining.finish(phases) };
}

const changed = (inputs: CircuitInputs, name: string, at: number): CircuitInputs => {
  const own = inputs[name] as readonly bigint[];
  return { ...inputs, [name]: own.with(at, add(own[at]!, 1n)) };
};

describe('wires', () => {
  it.each(CASE_KINDS)('%s: the same x; a change anywhere is refused', (kind) => {
    const draw = new Draw(`wires ${kind}`, 1);
    const items = draw.pick([2, 4]);
    const { circuit, proof } = joint([randomCase(kind, draw, items)], [2]);
    expect(runWires(circuit, proof.inputs)).toEqual(proof.x);
    for (const name of INPUT_NAMES) {
      const { length } = proof.inputs[name] as readonly bigint[];
      if (length === 0) continue;
      for (const at of new Set([0, length - 1, draw.int(0, length - 1)]))
        if (name === 'openingRounds')
          expect(runWires(circuit, changed(proof.inputs, name, at)).at(-1), `${name}[${at}]`).not.toBe(proof.x.at(-1));
        else expect(() => runWires(circuit, changed(proof.inputs, name, at)), `${name}[${at}]`).toThrow('phase');
    }
  });

  it('several groups with different numbers of receipts', () => {
    const draw = new Draw('wires joint', 5);
    const groups = [
      randomCase(CASE_KINDS[0]!, draw, 3),
      randomCase(CASE_KINDS[1]!, draw, 2),
      randomCase(CASE_KINDS[2]!, draw, 1),
    ];
    const { circuit, proof } = joint(groups, [3, 1, 1]);
    expect(runWires(circuit, proof.inputs)).toEqual(proof.x);
  });
});

describe('circuit of the iris model', () => {
  const make = async () => {
    const { file } = shippedModel('iris');
    const bundle = compileModel(readOnnx(readFileSync(file), 'iris'), { calibration: calibrationSamples('iris', 40) });
    const receipts = heldOutSamples('iris', 2).samples.map((sample) => encodeInputs(bundle, sample).values);
    const { program } = prover.keyOf(bundle);
    const shape: BatchShape = { n: BITS, groups: [{ program, receipts: 2, itemsPerReceipt: 1 }] };
    const contexts = receipts.map((_, i) => new Uint8Array(32).fill(i));
    const proof = proveJoint(prover, shape, [{ bundle, receipts, contexts }], place);
    const circuit = buildVerifierCircuit(shape);
    const compiled = await compileCircuit(verifierSources(circuit));
    return { circuit, proof, compiled, r1cs: readR1cs(compiled.r1cs) };
  };
  let made: Awaited<ReturnType<typeof make>>;
  beforeAll(async () => {
    made = await make();
  }, 120_000);

  it('gives c, E and rho; every constraint holds', async () => {
    const { proof, compiled, r1cs } = made;
    const witness = await witnessOf(compiled, proof.inputs);
    expect(witness.slice(1, 4)).toEqual([proof.c, proof.e, proof.rho]);
    expect(violatedConstraint(r1cs, witness)).toBeUndefined();
  });

  it.each(INPUT_NAMES)('has no witness for another of its %s, or another x', async (name) => {
    const { proof, compiled } = made;
    const { length } = proof.inputs[name] as readonly bigint[];
    for (const at of new Set([0, Math.floor(length / 2), length - 1])) {
      const attempt = witnessOf(compiled, changed(proof.inputs, name, at));
      // Rounds of phase O are checked by the opening of what they end in, which the contract does.
      if (name === 'openingRounds') expect((await attempt)[1], `${name}[${at}]`).not.toBe(proof.c);
      else await expect(attempt, `${name}[${at}]`).rejects.toThrow('Assert Failed');
    }
  });

  it('another rho gives another E and the same c', async () => {
    const { proof, compiled } = made;
    const witness = await witnessOf(compiled, { ...proof.inputs, rho: add(proof.rho, 1n) });
    expect(witness[1]).toBe(proof.c);
    expect(witness[2]).not.toBe(proof.e);
  });

  it('leaves no wire undetermined and no input unused', () => {
    const { undetermined, unusedInputs } = undeterminedWires(made.r1cs, made.compiled.symbols);
    expect(undetermined).toEqual([]);
    expect(unusedInputs).toEqual([]);
  });

  it('has the committed size', () => {
    expect(circuitSize(made.r1cs)).toMatchSnapshot();
  });
});
