import { ContractFactory, id, Wallet, type InterfaceAbi } from 'ethers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchHash, headerHash } from '../receipts/batch.js';
import { domainSeparator, orderValue, receiptValue } from '../receipts/eip712.js';
import { batchRoot, leafHash, MAX_BATCH, merklePath, verifyPath } from '../receipts/merkle.js';
import { LANES, type Hex, type Lane } from '../receipts/types.js';
import { batchCases, eip712Cases, merkleCases } from '../receipts/vectors/read-vectors.js';
import { headerValue } from '../receipts/verify-receipt.js';
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
  const { abi, bytecode } = (await compileContracts({ folders: ['harness'] }))['BatchTreeHarness']!;
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

  it.each(eip712Cases.map((c) => [c.receipt.lane, c] as const))('orders and consents, %s', async (_lane, c) => {
    const { account, signer } = c.registration;
    expect(await call('hashOrder', orderValue(c.order))).toBe(c.orderStructHash);
    for (const [structHash, digest, signature, by] of [
      [c.orderStructHash, c.orderDigest, c.orderSignature, c.order.requester],
      [await call('acceptance', c.orderDigest), c.acceptanceDigest, c.acceptance, c.order.executor],
      [await call('cancellation', c.orderDigest), c.cancellationDigest, c.cancellation, c.order.requester],
      [await call('registration', account, signer), c.registrationDigest, c.registrationSignature, signer],
    ]) {
      expect(await call('digest', c.domainSeparator, structHash)).toBe(digest);
      expect(String(await call('recover', digest, signature)).toLowerCase()).toBe(by);
    }
  });

  it('domain separator of its own chain and the address it is told', async () => {
    const verifyingContract = (await harness.getAddress()).toLowerCase() as Hex;
    expect(await call('domainSeparator', verifyingContract)).toBe(
      domainSeparator({ chainId: 31337n, verifyingContract }),
    );
  });

  it.each(batchCases.map((c) => [c.header.lane, c] as const))(
    'names of batch, header and leaf, %s',
    async (_lane, c) => {
      // The chain id is the chain's own: a vector of another one is named anew, by what the vector holds together.
      const domain = { ...c.domain, chainId: 31337n };
      const name = batchHash(c.header, domain);
      expect(await call('batchName', headerValue(c.header), domain.verifyingContract)).toBe(name);
      if (c.domain.chainId === domain.chainId) expect(name).toBe(c.batchHash);
      expect(await call('batchStored', name, headerValue(c.header))).toBe(headerHash(c.header, domain));
      expect(await call('batchStored', c.batchHash, headerValue(c.header))).toBe(c.headerHash);
      expect(await call('boundLeaf', c.batchHash, c.index, c.receiptStructHash)).toBe(c.boundLeaf);
    },
  );

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
