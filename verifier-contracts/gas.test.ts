/**
 * Gas as a committed snapshot: growth shows as a difference in gas.snapshot.json.
 * After a wanted change: `npx vitest run verifier-contracts/gas.test.ts -u`, and commit the file.
 */
import { getBytes } from 'ethers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { compileContracts } from './build.js';
import { freshSalt, startRollup, testPolicy, type RollupFixture } from './harness/rollup-fixture.js';
import type { SentTransaction } from './rollup-client.js';

let f: RollupFixture;
beforeAll(async () => {
  f = await startRollup();
});
afterAll(() => f.stop());

/** Calldata differs from run to run in its zero bytes: each byte is counted as non-zero, 16 gas (EIP-2028). */
async function evened({ transactionHash, gasUsed }: SentTransaction): Promise<number> {
  const bytes = getBytes((await f.provider.getTransaction(transactionHash))!.data);
  const zeros = bytes.filter((byte) => byte === 0).length;
  return Number(gasUsed) + 12 * zeros;
}

it('matches gas.snapshot.json', async () => {
  const gas: Record<string, number> = {};
  // The accumulator's first write costs more than all later ones.
  await f.client.commit('sampled', await f.receipts(1), freshSalt());
  for (const count of [1, 16, 64, 256]) {
    gas[`commit of ${count}`] = await evened(await f.client.commit('sampled', await f.receipts(count), freshSalt()));
  }
  const receipts = await f.receipts(64);
  const { header } = await f.client.commit('sampled', receipts, freshSalt());
  await f.anvil.mine(testPolicy.beaconDelay);
  gas['fixSeed'] = await evened(await f.client.fixSeed(header));
  const { verdict, signatures } = await f.verdict(header, [3], 2, [5]);
  gas['reportAudit, quorum 2 of 3, with kills and voided'] = await evened(
    await f.client.reportAudit(header, verdict, signatures),
  );
  const { ReceiptRollup } = await compileContracts();
  const snapshot = {
    unit: 'gas of a whole transaction, every calldata byte counted as non-zero; sizes in bytes',
    gas,
    deployedBytes: { ReceiptRollup: ReceiptRollup!.deployedBytes },
  };
  await expect(`${JSON.stringify(snapshot, null, 2)}\n`).toMatchFileSnapshot('gas.snapshot.json');
});
