/** ProgramStore.sol: what it takes, that it is what the bytes say, and that nobody else can put anything there. */
import { concat, ContractFactory, hexlify, keccak256, toBeHex, Wallet, type InterfaceAbi } from 'ethers';
import type { ContractTransactionResponse, JsonRpcProvider, Contract } from 'ethers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { randomCase } from '../../prover/audit/cases.js';
import { Draw } from '../../prover/audit/draw.js';
import { encodeProgram } from '../../prover/program/encode-program.js';
import { anvilKey, startAnvil, type Anvil } from '../anvil.js';
import { compileContracts, type Artifacts } from '../build.js';
import { connectChain } from '../connect-chain.js';
import { COMPILE_TIMEOUT_MS } from '../harness/opening/deploy-harness.js';

const MAKER_HASH = keccak256('0x67363d3d37363d34f03d5260086018f3');
const { program } = randomCase('conv', new Draw('program store', 1), 1).built;
const code = encodeProgram(program);
const n = program.modelBits;

let anvil: Anvil;
let provider: JsonRpcProvider;
let signer: Wallet;
let artifacts: Artifacts;
let store: Contract;
const deploy = async (name: string, ...args: unknown[]): Promise<Contract> => {
  const { abi, bytecode } = artifacts[name]!;
  const contract = (await new ContractFactory(abi as InterfaceAbi, bytecode, signer).deploy(...args)) as Contract;
  await contract.waitForDeployment();
  return contract;
};
beforeAll(async () => {
  artifacts = await compileContracts({ folders: ['src/direct'] });
  anvil = await startAnvil();
  provider = await connectChain(anvil.url);
  signer = new Wallet(anvilKey(0), provider);
  store = await deploy('ProgramStore', await (await deploy('TapeMaker')).getAddress());
}, COMPILE_TIMEOUT_MS);
afterAll(async () => {
  provider?.destroy();
  await anvil?.stop();
});

const publish = async (own: Contract, bytes: Uint8Array, items: number, bits: number) => {
  const sent = (await own.getFunction('publish')(hexlify(bytes), items, bits, {
    gasLimit: 16_000_000,
  })) as ContractTransactionResponse;
  return (await sent.wait())!;
};
async function refusal(bytes: Uint8Array, items = 1, bits = n): Promise<string> {
  try {
    await store.getFunction('publish').staticCall(hexlify(bytes), items, bits);
  } catch (error) {
    const { revert, data, code: kind } = error as { revert?: { name: string } | null; data?: string; code?: string };
    if (kind !== 'CALL_EXCEPTION') throw error;
    return revert?.name ?? `reverted: ${data}`;
  }
  return 'accepted';
}
const makerOf = (own: string, salt: string): string =>
  `0x${keccak256(concat(['0xff', own, salt, MAKER_HASH])).slice(26)}`;
const saltOf = (bytes: Uint8Array, items: number, bits: number): string =>
  keccak256(concat([keccak256(concat([keccak256(bytes), toBeHex((items << 8) | bits, 32)])), toBeHex(0, 32)]));
const pieceOf = (own: string, bytes: Uint8Array, items: number, bits: number): string =>
  `0x${keccak256(concat(['0xd694', makerOf(own, saltOf(bytes, items, bits)), '0x01'])).slice(26)}`;

it('a program is published once, whoever comes again', async () => {
  const address = await store.getAddress();
  const isPublished = (): Promise<unknown> => store.getFunction('isPublished')(keccak256(code), 1, n);
  expect(await isPublished()).toBe(false);
  const first = await publish(store, code, 1, n);
  expect(first.logs).toHaveLength(1);
  expect(await isPublished()).toBe(true);
  const tape = await provider.getCode(pieceOf(address, code, 1, n));
  // A STOP in front: nobody can run it.
  expect(tape.slice(0, 4)).toBe('0x00');
  const again = await publish(store, code, 1, n);
  expect(again.logs).toHaveLength(0);
  expect(again.gasUsed).toBeLessThan(first.gasUsed / 10n);
  expect(await provider.getCode(pieceOf(address, code, 1, n))).toBe(tape);
  // Other items and another n are other tapes, and another store derives the same.
  await publish(store, code, 2, n);
  await publish(store, code, 1, n + 1);
  const other = await deploy('ProgramStore', await (await deploy('TapeMaker')).getAddress());
  await publish(other, code, 1, n);
  expect(await provider.getCode(pieceOf(await other.getAddress(), code, 1, n))).toBe(tape);
});

it("a tape cannot be forged or written over: makers are the store's, and make their first contract alone", async () => {
  const address = await store.getAddress();
  await publish(store, code, 3, n);
  const piece = pieceOf(address, code, 3, n);
  const tape = await provider.getCode(piece);
  // Anybody may call a maker; what it makes then lies elsewhere.
  const maker = makerOf(address, saltOf(code, 3, n));
  await (await signer.sendTransaction({ to: maker, data: '0x6001600c60003960016000f3fe', gasLimit: 200_000 })).wait();
  expect(await provider.getCode(piece)).toBe(tape);
  // Nor does calling the tape do anything.
  expect(await provider.call({ to: piece, data: '0x1234' })).toBe('0x');
});

it('bytes that are no program, and plans beyond the protocol, are refused', async () => {
  for (const cut of [1, 2, code.length >> 1, code.length - 1])
    expect(await refusal(code.slice(0, -cut))).not.toBe('accepted');
  expect(await refusal(Uint8Array.of(...code, 0))).toBe('ProgramMalformed');
  expect(await refusal(new Uint8Array(0))).not.toBe('accepted');
  for (const items of [0, 4097]) expect(await refusal(code, items)).toBe('PlanLimits');
  for (const bits of [n - 1, 25, 2 ** 30]) expect(await refusal(code, 1, bits)).toBe('PlanLimits');
  const changed = (at: number, byte: number): Uint8Array => code.map((old, i) => (i === at ? byte : old));
  // log2 of a model column above n, and below what there is; no witness; numbers without an end.
  expect(await refusal(changed(0, n + 1))).toBe('PlanLimits');
  expect(await refusal(changed(0, 7))).toBe('PlanLimits');
  expect(await refusal(changed(1, 0))).toBe('ProgramMalformed');
  expect(await refusal(code.map(() => 0x80))).toBe('ProgramMalformed');
});

it('another encoding of the same program is another program: no digest that TypeScript makes names it', async () => {
  // modelBits as two bytes.
  const long = Uint8Array.of(code[0]! | 0x80, 0, ...code.slice(1));
  await publish(store, long, 1, n);
  expect(await store.getFunction('isPublished')(keccak256(long), 1, n)).toBe(true);
  expect(keccak256(long)).not.toBe(keccak256(code));
});

it('too little gas leaves nothing behind', async () => {
  const bytes = encodeProgram(randomCase('network', new Draw('program store', 2), 1).built.program);
  const bits = bytes[0]!;
  const needed = (await store.getFunction('publish').estimateGas(hexlify(bytes), 1, bits)) as bigint;
  for (const part of [30n, 60n, 90n]) {
    const sent = store.getFunction('publish')(hexlify(bytes), 1, bits, { gasLimit: (needed * part) / 100n });
    await expect(sent.then((tx: ContractTransactionResponse) => tx.wait())).rejects.toMatchObject({
      code: 'CALL_EXCEPTION',
    });
    expect(await store.getFunction('isPublished')(keccak256(bytes), 1, bits)).toBe(false);
  }
  await publish(store, bytes, 1, bits);
});

it('the store takes no address without code for its maker', async () => {
  await expect(deploy('ProgramStore', Wallet.createRandom().address)).rejects.toMatchObject({ code: 'CALL_EXCEPTION' });
});
