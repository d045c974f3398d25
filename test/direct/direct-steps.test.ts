/** What the direct verifier computes on its way, against the functions of prover/plan that it stands for. */
import {
  ContractFactory,
  hexlify,
  Wallet,
  type Contract,
  type InterfaceAbi,
  type JsonRpcProvider,
  Result,
} from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CASE_KINDS, randomCase } from '../../prover/audit/cases.js';
import { Draw } from '../../prover/audit/draw.js';
import { mul } from '../../prover/field/fr.js';
import { eqFactors, evaluateFactors, pushWeights } from '../../prover/plan/functional.js';
import { evaluateMasks, withChunk } from '../../prover/plan/lookup.js';
import { columnsOf, makePlan } from '../../prover/plan/plan.js';
import { encodeProgram } from '../../prover/program/encode-program.js';
import { bitsOf, bitsOfAxes } from '../../prover/program/layout.js';
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
const call = (name: string, ...args: unknown[]): Promise<unknown> => harness.getFunction(name).staticCall(...args);
beforeAll(async () => {
  anvil = await startAnvil();
  provider = await connectChain(anvil.url);
  const { abi, bytecode } = (await compileContracts({ folders: ['harness/direct'] }))['DirectHarness']!;
  const factory = new ContractFactory(abi as InterfaceAbi, bytecode, new Wallet(anvilKey(0), provider));
  harness = (await factory.deploy()) as Contract;
  await harness.waitForDeployment();
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

  it('masks and tables', async () => {
    const { program, items, draw } = programOf(kind, 2);
    const n = draw.int(program.modelBits, 12);
    const code = hexlify(encodeProgram(program));
    const plan = makePlan([{ program, items }], n);
    const point = points(draw, n);
    const masks = (await call('masks', code, items, n, point)) as bigint[][];
    expect(masks.map((own) => [...own])).toEqual(
      Array.from({ length: plan.witnessChunks }, (_, c) => {
        const { requant, looked, maxima, tag } = evaluateMasks(plan, withChunk(plan.witnessChunks, c, point));
        return [requant, looked, maxima, tag];
      }),
    );
    const tables = makePlan([{ program, items: 1 }], n);
    const rows = (await call('rows', code, n, point)) as bigint[][];
    expect(rows.map((own) => [...own])).toEqual(
      Array.from({ length: tables.tableChunks }, (_, j) => {
        const { valid, a, b, tag } = evaluateTables(tables.tables, withChunk(tables.tableChunks, j, point));
        return [valid, a, b, tag];
      }),
    );
  });

  it('views', async () => {
    const { program, draw } = programOf(kind, 3);
    const code = hexlify(encodeProgram(program));
    for (const [r, { expression }] of program.requants.entries())
      for (const [t, { source, blocks }] of expression.linear.entries()) {
        const axes =
          source.kind === 'one' ? [] : (source.kind === 'witness' ? program.witness : program.model)[source.slot]!.axes;
        const [target, inside] = [points(draw, bitsOfAxes(expression.axes)), points(draw, bitsOfAxes(axes))];
        const { coefficient, factors } = pushWeights(eqFactors(expression.axes, target), blocks);
        let from = 0;
        const coordinates = axes.map((side) => inside.slice(from, (from += bitsOf(side))));
        expect(await call('viewAt', code, r, t, target, inside), `requantisation ${r}, term ${t}`).toBe(
          mul(
            coefficient,
            evaluateFactors(factors, (axis) => coordinates[axis]!),
          ),
        );
      }
  });
});
