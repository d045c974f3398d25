/**
 * Gas as a committed snapshot: growth shows as a difference in gas.snapshot.json.
 * After a wanted change: `npx vitest run verifier-contracts/gas.test.ts -u`, and commit the file.
 */
import { getBytes } from 'ethers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Hex } from '../receipts/types.js';
import { compileContracts } from './build.js';
import { startSettlement, testPolicy, testTerms, type SettlementFixture } from './harness/settlement-fixture.js';
import type { BoundOrder } from './escrow-client.js';
import type { CommittedBatch, SignedReceipt } from './rollup-client.js';

let f: SettlementFixture;
beforeAll(async () => {
  f = await startSettlement();
});
afterAll(() => f.stop());

/** Calldata differs from run to run in its zero bytes: each byte is counted as non-zero, 16 gas (EIP-2028). */
async function evened({ transactionHash, gasUsed }: { transactionHash: Hex; gasUsed: bigint }): Promise<number> {
  const bytes = getBytes((await f.provider.getTransaction(transactionHash))!.data);
  const zeros = bytes.filter((byte) => byte === 0).length;
  return Number(gasUsed) + 12 * zeros;
}

async function sent(call: Parameters<typeof f.escrow.send>[0]): Promise<number> {
  const mined = await f.escrow.send(call, 'call');
  return evened({ transactionHash: mined.hash as Hex, gasUsed: mined.gasUsed });
}

const bound = (receipts: readonly SignedReceipt[], { header }: CommittedBatch): BoundOrder[] =>
  receipts.map(({ receipt }, index) => ({ order: f.orderFor(receipt).order, receipt, header, index }));

it('matches gas.snapshot.json', async () => {
  const gas: Record<string, number> = {};
  // The accumulator's first write costs more than all later ones.
  await f.commit(await f.receipts(1));
  for (const count of [1, 16]) {
    const orders = (await f.receipts(count, (receipt) => receipt, { open: false })).map(({ receipt }) =>
      f.orderFor(receipt),
    );
    gas[`open of ${count}`] = await sent(f.escrow.openCall(orders));
  }
  for (const count of [1, 16, 64, 256]) {
    gas[`commit of ${count}`] = await evened(await f.commit(await f.receipts(count)));
  }
  const proved = await f.receipts(1, (receipt) => receipt, { lane: 'zk' });
  const zk = await f.commitProved(proved);
  gas['commitProved of 1, the verifier apart'] = await evened(zk);

  const receipts = await f.receipts(64);
  const batch = await f.commit(receipts);
  await f.anvil.mine(testTerms.beaconDelay);
  gas['fixSeed'] = await evened(await f.court.fixSeed(batch.header));
  const { verdict, signatures } = await f.verdict(batch.header, [3], 2, [5]);
  gas['reportAudit of 64, quorum 2 of 3, with kills and voided'] = await evened(
    await f.court.reportAudit(batch.header, verdict, signatures),
  );

  await f.advanceTo(batch.header.committedAt + testPolicy.deliveryWindow + 1);
  const orders = bound(receipts, batch);
  gas['settle of 1, zk, paid'] = await sent(f.escrow.settleCall(bound(proved, zk)));
  gas['settle of 1, sampled, paid'] = await sent(f.escrow.settleCall([orders[0]!]));
  gas['settle of 1, sampled, slashed'] = await sent(f.escrow.settleCall([orders[3]!]));
  gas['settle of 1, sampled, void'] = await sent(f.escrow.settleCall([orders[5]!]));
  gas['settle of 16, sampled, paid'] = await sent(f.escrow.settleCall(orders.slice(6, 22)));

  const artifacts = await compileContracts();
  const snapshot = {
    unit: 'gas of a whole transaction, every calldata byte counted as non-zero; sizes in bytes',
    gas,
    deployedBytes: Object.fromEntries(
      Object.entries(artifacts)
        .map(([name, { deployedBytes }]) => [name, deployedBytes] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  };
  await expect(`${JSON.stringify(snapshot, null, 2)}\n`).toMatchFileSnapshot('gas.snapshot.json');
});
