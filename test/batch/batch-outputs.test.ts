/** What BatchVerifier reads out of records and published integers, against TypeScript, on random groups of random outputs. */
import type { Contract } from 'ethers';
import { ContractFactory, hexlify, Wallet, type InterfaceAbi } from 'ethers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { packOutputs } from '../../circuits/batch/commitments.js';
import { encodeHeader, tensorHeader, tensorRootBytes, type CommittedInfo } from '../../graph/commitment/tensor-root.js';
import { outputRootOf } from '../../graph/commitment/trace-root.js';
import { sizeOf } from '../../graph/tensor.js';
import { Draw } from '../../prover/audit/draw.js';
import { ByteWriter } from '../../prover/files/bytes.js';
import type { Program } from '../../prover/program/types.js';
import { requestedOutputs } from '../../prover/verifier/check-outputs.js';
import { anvilKey, startAnvil, type Anvil } from '../../verifier-contracts/anvil.js';
import { compileContracts } from '../../verifier-contracts/build.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';

const ROUNDS = 40;
const KEY_BYTES = 576;

let anvil: Anvil;
let harness: Contract;
let stop: () => Promise<void>;
beforeAll(async () => {
  anvil = await startAnvil();
  const provider = await connectChain(anvil.url);
  const { abi, bytecode } = (await compileContracts({ folders: ['harness/batch'] }))['BatchOutputsHarness']!;
  const made = await new ContractFactory(abi as InterfaceAbi, bytecode, new Wallet(anvilKey(0), provider)).deploy();
  harness = (await made.waitForDeployment()) as Contract;
  stop = async () => {
    provider.destroy();
    await anvil.stop();
  };
}, 300_000);
afterAll(() => stop?.());

interface Output {
  /** Of the published tensor. */
  readonly axes: readonly number[];
  readonly argMaxAxis: number | null;
  readonly info: CommittedInfo;
}

function output(draw: Draw): Output {
  const axes = Array.from({ length: draw.int(1, 3) }, () => draw.pick([1, 2, 3, 7, 10, 33]));
  const argMaxAxis = draw.chance(0.4) ? draw.int(0, axes.length - 1) : null;
  const shape = argMaxAxis === null ? axes : axes.toSpliced(argMaxAxis, 1);
  const range =
    argMaxAxis === null
      ? draw.pick([
          { lo: 0, hi: 255 },
          { lo: -128, hi: 127 },
          { lo: -30_000, hi: 30_000 },
          { lo: 0, hi: 65_535 },
          { lo: -(2 ** 24), hi: 2 ** 24 },
        ])
      : { lo: 0, hi: axes[argMaxAxis]! - 1 };
  return { axes, argMaxAxis, info: { shape, range, layout: shape.map((_, axis) => axis) } };
}

/** As circuits/batch/record.ts, with a key of zeros: the reader of outputs does not look at it. */
function recordOf(groups: readonly (readonly Output[])[], items: readonly number[]): Uint8Array {
  const out = new ByteWriter().raw(new Uint8Array(KEY_BYTES)).u8(14).u8(3).u8(groups.length);
  groups.forEach((outputs, g) => {
    out.raw(new Uint8Array(32).fill(g)).u16(4).u32(items[g]!).u8(2).u8(outputs.length);
    for (const { axes, argMaxAxis, info } of outputs) {
      const header = encodeHeader(tensorHeader(info, items[g]!));
      out
        .u8(header.length)
        .raw(header)
        .u32(items[g]! * sizeOf(axes));
      out.u32(argMaxAxis === null ? 0 : axes[argMaxAxis]!);
      out.u32(argMaxAxis === null ? 1 : sizeOf(axes.slice(argMaxAxis + 1)));
    }
  });
  return out.done();
}

it('output roots and words are those of TypeScript: one chunk and many, every width, arg-max along any axis', async () => {
  const seed = Date.now() % 2 ** 31;
  for (let round = 0; round < ROUNDS; round++) {
    const draw = new Draw(`batch outputs ${seed}`, round);
    const groups = Array.from({ length: draw.int(1, 3) }, () =>
      Array.from({ length: draw.int(1, 3) }, () => output(draw)),
    );
    const items = groups.map(() => draw.int(1, 3));
    const record = recordOf(groups, items);
    const g = draw.int(0, groups.length - 1);
    const outputs = groups[g]!;
    const published = outputs.map(({ axes, argMaxAxis, info: { range } }) => {
      // Few different values, so that largest ones tie.
      const { lo, hi } = argMaxAxis === null ? range : { lo: -2, hi: 2 };
      return draw.values(items[g]! * sizeOf(axes), lo, hi);
    });
    const program = {
      outputs: outputs.map(({ axes, argMaxAxis }) => ({ expression: { axes }, argMaxAxis })),
    } as unknown as Program;
    const asked = requestedOutputs(program, items[g]!, published);
    const root = outputRootOf(asked.map((values, i) => tensorRootBytes(outputs[i]!.info, values, items[g]!)));
    const integers = published.flatMap((values) => Array.from(values));
    const bytes = new ByteWriter();
    integers.forEach((value) => bytes.u32(value >>> 0));
    const read = (await harness
      .getFunction('read')
      .staticCall(hexlify(record), g, hexlify(bytes.done()))) as unknown as [bigint, string, bigint[]];
    expect(
      [...read].map((part) => (Array.isArray(part) ? [...part] : part)),
      `seed ${seed}, round ${round}`,
    ).toEqual([BigInt(integers.length), root, packOutputs(integers)]);
  }
}, 120_000);

it('a record is whole, or it is not one', async () => {
  const draw = new Draw('batch record', 1);
  const record = recordOf([[output(draw)], [output(draw), output(draw)]], [1, 2]);
  const isWhole = (bytes: Uint8Array): Promise<boolean> =>
    harness.getFunction('isWhole').staticCall(hexlify(bytes)) as Promise<boolean>;
  expect(await isWhole(record)).toBe(true);
  for (const length of [KEY_BYTES + 3, record.length - 13, record.length - 1])
    expect(await isWhole(record.slice(0, length)), `${length}`).toBe(false);
  expect(await isWhole(Uint8Array.from([...record, 0]))).toBe(false);
});
