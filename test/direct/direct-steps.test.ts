/** What the direct verifier computes on its way, against the functions of prover/plan that it stands for. */
import type { Contract } from 'ethers';
import {
  ContractFactory,
  hexlify,
  Wallet,
  type ContractTransactionResponse,
  type InterfaceAbi,
  type JsonRpcProvider,
  Result,
} from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CASE_KINDS, randomCase } from '../../prover/audit/cases.js';
import { Draw } from '../../prover/audit/draw.js';
import { mul } from '../../prover/field/fr.js';
import { collectClaims, operandClaim, outputPointBits, wordPointBits } from '../../prover/plan/claims.js';
import { columnCoefficients } from '../../prover/plan/coefficients.js';
import { evaluateMasks, lookupValueCount, unflattenValues, withChunk } from '../../prover/plan/lookup.js';
import { chunkBits, columnsOf, makePlan } from '../../prover/plan/plan.js';
import { encodeProgram, programHash } from '../../prover/program/encode-program.js';
import { evaluateTables } from '../../prover/program/tables.js';
import type { Program } from '../../prover/program/types.js';
import { productShape } from '../../prover/verifier/product-shape.js';
import { anvilKey, startAnvil, type Anvil } from '../../verifier-contracts/anvil.js';
import { compileContracts } from '../../verifier-contracts/build.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import { COMPILE_TIMEOUT_MS } from './direct-fixture.js';

let anvil: Anvil;
let provider: JsonRpcProvider;
let harness: Contract;
let store: Contract;
const call = (name: string, ...args: unknown[]): Promise<unknown> => harness.getFunction(name).staticCall(...args);
beforeAll(async () => {
  anvil = await startAnvil();
  provider = await connectChain(anvil.url);
  const artifacts = await compileContracts({ folders: ['src/direct', 'harness/direct'] });
  const signer = new Wallet(anvilKey(0), provider);
  const deploy = async (name: string, ...args: unknown[]): Promise<Contract> => {
    const { abi, bytecode } = artifacts[name]!;
    const contract = (await new ContractFactory(abi as InterfaceAbi, bytecode, signer).deploy(...args)) as Contract;
    await contract.waitForDeployment();
    return contract;
  };
  harness = await deploy('DirectHarness');
  store = await deploy('ProgramStore', await (await deploy('TapeMaker')).getAddress());
}, COMPILE_TIMEOUT_MS);
afterAll(async () => {
  provider?.destroy();
  await anvil?.stop();
});

const programOf = (
  kind: (typeof CASE_KINDS)[number],
  seed: number,
): { program: Program; items: number; draw: Draw } => {
  const draw = new Draw(`steps ${kind}`, seed);
  const items = draw.int(1, 5);
  return { program: randomCase(kind, draw, items).built.program, items, draw };
};
const points = (draw: Draw, count: number): bigint[] => Array.from({ length: count }, () => draw.field());
const powers = (first: bigint, ratio: bigint, count: number): bigint[] => {
  const all = [first];
  while (all.length < count) all.push(mul(all.at(-1)!, ratio));
  return all.slice(0, count);
};

describe.each(CASE_KINDS)('%s', (kind) => {
  it('plan', async () => {
    const { program, items, draw } = programOf(kind, 1);
    const n = draw.int(program.modelBits, 12);
    const plan = makePlan([{ program, items }], n);
    const answer = (await call('plan', hexlify(encodeProgram(program)), items, n)) as Result;
    // Lists of one element would become objects in a deep conversion.
    const found = Object.fromEntries(
      Object.entries(answer.toObject()).map(([key, value]) => [key, value instanceof Result ? [...value] : value]),
    );
    const placed = found['tables'] as { offset: bigint; rows: bigint; tag: bigint }[];
    const shape = productShape(plan);
    expect(found).toMatchObject({
      batchBits: BigInt(plan.groups[0]!.batchBits),
      witnessOffsets: plan.groups[0]!.witnessOffsets.map(BigInt),
      modelOffsets: plan.groups[0]!.modelOffsets.map(BigInt),
      lookupBits: BigInt(plan.lookupBits),
      witnessChunks: BigInt(plan.witnessChunks),
      tableChunks: BigInt(plan.tableChunks),
      modelChunks: BigInt(plan.groups[0]!.modelChunks),
      hasMaxima: plan.hasMaxima,
      hasValues: plan.hasValues,
      tags: program.tables.map((_, t) => BigInt(plan.tables.tagOf(0, t))),
      products: BigInt(shape.count),
      variables: BigInt(shape.variables),
      degree: BigInt(shape.degree),
      columns: BigInt(columnsOf(plan).length),
    });
    expect(placed.map(({ offset, rows, tag }) => [offset, rows, tag])).toEqual(
      plan.tables.tables.map(({ offset, rows, tag }) => [offset, rows, tag].map(BigInt)),
    );
  });

  // The largest n leaves room for several chunks in a column.
  it.each([0, 3])('the tape, columns 2^%i times as long as they must be', async (more) => {
    const { program, items, draw } = programOf(kind, 2 + more);
    const n = program.modelBits + more;
    const plan = makePlan([{ program, items }], n);
    const hash = hexlify(programHash(program));
    const sent = await store.getFunction('publish')(hexlify(encodeProgram(program)), items, n, {
      gasLimit: 16_000_000,
    });
    await (sent as ContractTransactionResponse).wait();

    const { variables, count } = productShape(plan);
    const inside = points(draw, plan.lookupBits);
    const drawn = {
      wordPoint: points(draw, wordPointBits(plan)),
      outputPoint: points(draw, outputPointBits(plan)),
      tau: points(draw, plan.lookupBits),
      witnessPoint: [...points(draw, chunkBits(plan.witnessChunks)), ...inside],
      tablePoint: [...points(draw, chunkBits(plan.tableChunks)), ...inside],
      rho: points(draw, variables),
      u: points(draw, n),
    };
    const [lambda, gamma] = [draw.field(), draw.field()];
    const claimCount =
      7 + (plan.hasMaxima ? 5 : 0) + (plan.hasValues ? 1 : 0) + program.outputs.length + program.inputs.length;
    const found = (await call('run', await store.getAddress(), hash, items, n, {
      ...drawn,
      lambdas: powers(1n, lambda, claimCount),
      gammas: powers(gamma, gamma, 2 * count),
    })) as Result;
    const list = (name: string): bigint[] => [...(found.getValue(name) as bigint[])];

    expect(list('masks')).toEqual(
      Array.from({ length: plan.witnessChunks }, (_, c) => {
        const { requant, looked, maxima, tag } = evaluateMasks(plan, withChunk(plan.witnessChunks, c, inside));
        return [requant, looked, maxima, tag];
      }).flat(),
    );
    expect(list('rows')).toEqual(
      Array.from({ length: plan.tableChunks }, (_, j) => {
        const { valid, a, b, tag } = evaluateTables(plan.tables, withChunk(plan.tableChunks, j, inside));
        return [valid, a, b, tag];
      }).flat(),
    );
    const claims = collectClaims(
      plan,
      {
        witness: drawn.witnessPoint,
        table: drawn.tablePoint,
        output: drawn.outputPoint,
        word: drawn.wordPoint,
        lambda,
      },
      unflattenValues(plan, points(draw, lookupValueCount(plan))),
      {
        words: [program.inputs.map(() => Array.from({ length: items }, () => []))],
        outputs: [
          program.outputs.map(
            ({ expression: { axes } }) => new Int32Array(items * axes.reduce((size, side) => size * side, 1)),
          ),
        ],
      },
    );
    const operands = claims.products.flatMap((term) =>
      (['p', 'q'] as const).map((side) => operandClaim(plan, term, side, drawn.rho.slice(variables - term.variables))),
    );
    expect(list('operandKnown')).toEqual(operands.map(({ constant }) => constant));
    const entries = [
      { scale: 1n, functionals: claims.direct },
      ...operands.map(({ functionals }, i) => ({ scale: powers(gamma, gamma, 2 * count)[i]!, functionals })),
    ];
    expect(list('coefficients')).toEqual(columnCoefficients(plan, entries, drawn.u));
  });
});
