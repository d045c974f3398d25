import { ContractFactory, id, Wallet, type InterfaceAbi } from 'ethers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { domainSeparator, receiptValue } from '../receipts/eip712.js';
import { batchRoot, leafHash, MAX_BATCH, merklePath, verifyPath } from '../receipts/merkle.js';
import { LANES, type Hex, type Lane } from '../receipts/types.js';
import { eip712Cases, merkleCases } from '../receipts/vectors/read-vectors.js';
import { anvilKey, startAnvil, type Anvil } from './anvil.js';
import { compileContracts } from './build.js';
import { connectChain } from './connect-chain.js';
import type { JsonRpcProvider, Contract } from 'ethers';

let anvil: Anvil;
let provider: JsonRpcProvider;
let harness: Contract;

beforeAll(async () => {
  anvil = await startAnvil();
  provider = await connectChain(anvil.url);
  const { abi, bytecode } = (await compileContracts({ folders: ['src', 'harness'] }))['BatchTreeHarness']!;
  const signer = new Wallet(anvilKey(0), provider);
  harness = (await new ContractFactory(abi as InterfaceAbi, bytecode, signer).deploy()) as Contract;
  await harness.waitForDeployment();
});
afterAll(async () => {
  provider.destroy();
  await anvil.stop();
});

const call = (name: string, ...args: unknown[]): Promise<unknown> => harness.getFunction(name)(...args);
const structHashes = (count: number): Hex[] =>
  Array.from({ length: count }, (_, i) => id(`receipt ${i} of ${count}`) as Hex);

describe('Solidity on the committed vectors', () => {
  it.each(eip712Cases.map((c) => [c.receipt.lane, c] as const))('EIP-712, %s', async (_lane, c) => {
    expect(await call('hashReceipt', receiptValue(c.receipt))).toBe(c.receiptStructHash);
    expect(await call('digest', c.domainSeparator, c.receiptStructHash)).toBe(c.receiptDigest);
    expect(String(await call('recover', c.receiptDigest, c.receiptSignature)).toLowerCase()).toBe(c.receipt.executor);
  });

  it('domain separator of its own chain and address', async () => {
    const verifyingContract = (await harness.getAddress()).toLowerCase() as Hex;
    expect(await call('domainSeparator')).toBe(domainSeparator({ chainId: 31337n, verifyingContract }));
  });

  it.each(merkleCases.map((c) => [c.count, c] as const))('Merkle, %i leaves', async (count, c) => {
    const hashes = structHashes(count);
    expect(await call('root', LANES[c.lane], hashes)).toEqual([c.root, hashes]);
    for (const { index, leaf, path } of c.paths) {
      expect(await call('leaf', index, LANES[c.lane], hashes[index]!)).toBe(leaf);
      expect(await call('verify', leaf, index, count, path, c.root)).toBe(true);
    }
  });
});

describe('Solidity equals TypeScript on random batches', () => {
  it('roots of 220 batches of 1 to 256 receipts', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: MAX_BATCH }),
        fc.constantFrom<Lane>('zk', 'optimistic', 'sampled'),
        fc.nat(),
        async (count, lane, salt) => {
          const hashes = Array.from({ length: count }, (_, i) => id(`${salt} ${i}`) as Hex);
          const leaves = hashes.map((hash, i) => leafHash(i, lane, hash));
          // The second part comes back damaged if hashing touched the free memory pointer.
          expect(await call('root', LANES[lane], hashes)).toEqual([batchRoot(leaves), hashes]);
        },
      ),
      {
        numRuns: 220,
        examples: [
          [1, 'sampled', 0],
          [2, 'sampled', 0],
          [255, 'zk', 0],
          [MAX_BATCH, 'sampled', 0],
        ],
      },
    );
  });

  it('judgement of 200 right and wrong paths', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 40 }),
        fc.nat(),
        fc.integer({ min: -1, max: 1 }),
        fc.integer({ min: -1, max: 1 }),
        fc.integer({ min: -1, max: 1 }),
        async (count, at, indexShift, countShift, lengthShift) => {
          const leaves = structHashes(count).map((hash, i) => leafHash(i, 'sampled', hash));
          const index = at % count;
          const root = batchRoot(leaves);
          const right = merklePath(leaves, index);
          const path = lengthShift < 0 ? right.slice(0, -1) : lengthShift > 0 ? [...right, root] : right;
          const askedIndex = Math.max(0, index + indexShift);
          const askedCount = count + countShift;
          const expected = verifyPath(leaves[index]!, askedIndex, askedCount, path, root);
          expect(await call('verify', leaves[index]!, askedIndex, askedCount, path, root)).toBe(expected);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('ECDSA', () => {
  const c = eip712Cases[0]!;
  const zero = `0x${'0'.repeat(40)}`;
  it.each<[string, string]>([
    ['64 bytes', c.receiptSignature.slice(0, -2)],
    ['66 bytes', `${c.receiptSignature}00`],
    ['empty', '0x'],
    ['v = 0', `${c.receiptSignature.slice(0, -2)}00`],
    ['all zero', `0x${'00'.repeat(65)}`],
    ['mirrored s', mirrored(c.receiptSignature)],
  ])('recovers nobody from %s', async (_name, signature) => {
    expect(await call('recover', c.receiptDigest, signature)).toBe(zero);
  });
});

function mirrored(given: Hex): Hex {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const s = order - BigInt(`0x${given.slice(66, 130)}`);
  return `${given.slice(0, 66)}${s.toString(16).padStart(64, '0')}${given.endsWith('1b') ? '1c' : '1b'}` as Hex;
}
