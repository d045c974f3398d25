/** What the contract tests share: a private chain, a deployed rollup, auditors, and signed receipts in any number. */
import type { JsonRpcProvider } from 'ethers';
import { id, Wallet } from 'ethers';
import type { BatchHeader } from '../../receipts/batch.js';
import { batchHash } from '../../receipts/batch.js';
import { receiptStructHash } from '../../receipts/eip712.js';
import { leafHash, merklePath } from '../../receipts/merkle.js';
import { signReceipt } from '../../receipts/signature.js';
import type { Hex, Receipt } from '../../receipts/types.js';
import { anvilKey, startAnvil, type Anvil, type AnvilOptions } from '../anvil.js';
import { bitmapOf, signVerdict, type AuditVerdict } from '../audit-verdict.js';
import { connectChain } from '../connect-chain.js';
import { deployRollup } from '../deploy.js';
import { policyHash, type RollupPolicy } from '../policy.js';
import { RollupClient, type SignedReceipt } from '../rollup-client.js';

const byAddress = (a: Wallet, b: Wallet): number => (a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1);
export const auditorWallets: readonly Wallet[] = ['a', 'b', 'c']
  .map((name) => new Wallet(id(`auditor ${name}`)))
  .sort(byAddress);

export const testPolicy: RollupPolicy = {
  beaconDelay: 2,
  auditWindow: 20,
  drawRatePpm: 250_000,
  quorum: 2,
  auditors: auditorWallets.map(({ address }) => address.toLowerCase() as Hex),
};

export interface RollupFixture {
  readonly anvil: Anvil;
  readonly provider: JsonRpcProvider;
  readonly signer: Wallet;
  readonly client: RollupClient;
  /** Signed, distinct receipts that bind here; `change` alters each before it is signed. */
  receipts(count: number, change?: (receipt: Receipt, i: number) => Receipt): Promise<SignedReceipt[]>;
  /** A verdict over the fixed seed, with the signatures of the first `signers` auditors in order. */
  verdict(
    header: BatchHeader,
    kills: readonly number[],
    signers?: number,
    voided?: readonly number[],
  ): Promise<{ verdict: AuditVerdict; signatures: Hex[] }>;
  /** Commits, fixes the seed and reports. */
  finish(
    receipts: readonly SignedReceipt[],
    kills?: readonly number[],
    voided?: readonly number[],
  ): Promise<BatchHeader>;
  stop(): Promise<void>;
}

export const freshSalt = (): Hex => id(`salt ${salts++}`) as Hex;
let salts = 0;
let orders = 0;

export const executorKey = (i: number): Hex => id(`executor ${i % 4}`) as Hex;

export function pathOf(receipts: readonly SignedReceipt[], index: number): Hex[] {
  return merklePath(leavesOf(receipts), index);
}

export function leavesOf(receipts: readonly SignedReceipt[]): Hex[] {
  return receipts.map(({ receipt }, i) => leafHash(i, 'sampled', receiptStructHash(receipt)));
}

export async function startRollup(
  policy: RollupPolicy = testPolicy,
  options: AnvilOptions = {},
): Promise<RollupFixture> {
  const anvil = await startAnvil(options);
  const provider = await connectChain(anvil.url);
  // Away from 31337 the anvil accounts are refused, as they should be: another key is given funds.
  const signer = new Wallet(options.chainId === undefined ? anvilKey(0) : id('deployer'), provider);
  await provider.send('anvil_setBalance', [signer.address, '0xffffffffffffffffffff']);
  const { address } = await deployRollup(signer, policy);
  const client = await RollupClient.connect({ provider, address, signer });
  const { domain } = client;

  const receipts: RollupFixture['receipts'] = (count, change = (receipt) => receipt) =>
    Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const n = orders++;
        const wallet = new Wallet(executorKey(i));
        const receipt = change(
          {
            orderHash: id(`order ${n}`) as Hex,
            modelDigest: id('model') as Hex,
            inputRoot: id(`input ${n}`) as Hex,
            outputRoot: id(`output ${n}`) as Hex,
            traceRoot: id(`trace ${n}`) as Hex,
            opCount: 12,
            items: 1,
            amount: 1000n,
            lane: 'sampled',
            policyHash: policyHash(policy),
            executor: wallet.address.toLowerCase() as Hex,
            issuedAt: 1_800_000_000,
          },
          i,
        );
        return { receipt, signature: await signReceipt(receipt, domain, wallet) };
      }),
    );
  const verdict: RollupFixture['verdict'] = async (header, kills, signers = 2, voided = []) => {
    const batch = batchHash(header, domain);
    const seed = (await client.seedOf(batch)) ?? (id('no seed') as Hex);
    const given: AuditVerdict = {
      batchHash: batch,
      seed,
      kills: bitmapOf(kills),
      voided: bitmapOf(voided),
      resultsRoot: id('results') as Hex,
    };
    const signatures = auditorWallets.slice(0, signers).map((wallet) => signVerdict(given, domain, wallet));
    return { verdict: given, signatures: await Promise.all(signatures) };
  };
  return {
    anvil,
    provider,
    signer,
    client,
    receipts,
    verdict,
    finish: async (batch, kills = [], voided = []) => {
      const { header } = await client.commit('sampled', batch, freshSalt());
      await anvil.mine(policy.beaconDelay);
      await client.fixSeed(header);
      const { verdict: given, signatures } = await verdict(header, kills, 2, voided);
      await client.reportAudit(header, given, signatures);
      return header;
    },
    stop: async () => {
      provider.destroy();
      await anvil.stop();
    },
  };
}
