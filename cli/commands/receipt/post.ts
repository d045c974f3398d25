/**
 * Posts one receipt as a batch of its own: what an executor does whose poster sleeps, since a receipt has to bind before
 * its order's time is over. Anybody may; only gas is at stake.
 */
import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import { AssayError } from '../../../common/errors.js';
import { formatReceiptFile, type BatchPosition, type Hex, type ReceiptFile } from '../../../receipts/index.js';
import { ProgramStoreClient } from '../../../verifier-contracts/program-store-client.js';
import type { BindFault } from '../../../verifier-contracts/rollup-client.js';
import { checkWritable, writeOutputFile } from '../../files.js';
import { withSrsOptions, type SrsFlags } from '../../reference-string.js';
import { accountKey, withKeyOption, type KeyFlags } from '../../settlement/account-key.js';
import { checkDomain } from '../../settlement/check-domain.js';
import { withChainOptions, withDeployment, type ChainFlags } from '../../settlement/open-deployment.js';
import { placeOnChain, readReceipt } from '../../settlement/placed-receipt.js';
import { evidenceFor } from '../../../verifier-contracts/zk-verifier.js';
import { proofEvidence } from '../../settlement/proof-evidence.js';
import { terminalOf } from '../common-options.js';

interface PostFlags extends ChainFlags, KeyFlags, SrsFlags {
  key?: string;
  bundle?: string;
  out?: string;
}

export function postCommand(): Command {
  const command = new Command('post')
    .description('Put a receipt on chain by yourself, and its place there into the file.')
    .argument('<file>', 'a receipt file (.json); of the zk lane with its proof')
    .option('--bundle <file>', 'the model (.assay); needed for a receipt of the zk lane')
    .option('--key <file>', 'its key (.assaykey); made anew where --srs or --dev-srs is given instead')
    .option('-o, --out <file>', 'where to write the receipt with its place (default: over the file)')
    .addHelpText(
      'after',
      '\nExample: assay receipt post receipt.json --rpc http://127.0.0.1:8545 --rollup 0x... --key-file executor.key',
    );
  return withSrsOptions(withKeyOption(withChainOptions(command))).action(
    async (path: string, flags: PostFlags, own: Command) => {
      const terminal = terminalOf(own);
      const out = flags.out ?? path;
      checkWritable(out);
      const file = readReceipt(path);
      const { receipt, signature } = file;
      await withDeployment(
        flags,
        async (deployment) => {
          const { rollup, escrow, domain } = deployment;
          checkDomain(path, file.domain, domain);
          const finish = (place: BatchPosition, posted: Record<string, unknown>, text: string): void => {
            const placed: ReceiptFile = { ...file, batch: place };
            writeOutputFile(out, formatReceiptFile(placed));
            terminal.result({ file: out, batch: place, ...posted }, `${text}\nwrote ${out}`);
          };
          const before = await placeOnChain(deployment, file);
          if (before !== null) return finish(before, { before: true, steps: [] }, 'posted before');
          const { state } = await escrow.orderOf(receipt.orderHash);
          const fault = await rollup.bindFaultOf(receipt.lane, receipt.policyHash, { receipt, signature });
          if (fault !== 'none')
            throw new AssayError('RECEIPT_UNBOUND', `${path}: it cannot bind: ${FAULT_TEXT[fault]} (order: ${state})`, {
              mend:
                state === 'none'
                  ? 'Open the order first: `assay order open`.'
                  : 'Nothing was sent; see `assay order status`.',
              meta: { file: path, fault, state },
            });
          const salt: Hex = `0x${randomBytes(32).toString('hex')}`;
          const signed = [{ receipt, signature }];
          const proof = receipt.lane === 'zk' ? await proofEvidence(path, file, flags) : null;
          const steps: Record<string, unknown>[] = [];
          let evidence: Hex | null = null;
          if (proof !== null) {
            const policy = await escrow.policyOf(receipt.policyHash);
            evidence = await evidenceFor(deployment.context, policy.verifier, 'direct', proof.evidence);
            const store = await ProgramStoreClient.of(deployment.context, policy.verifier);
            const publishing = terminal.progress("publishing the model's program", null);
            const published = (await store?.publish(proof.publication)) ?? null;
            publishing.done(
              published === null ? 'it was before' : `block ${published.blockNumber}, ${published.gasUsed} gas`,
            );
            if (published !== null) steps.push({ what: 'publishing', ...published });
          }
          const progress = terminal.progress('posting', null);
          const posted =
            evidence === null
              ? await rollup.commit(receipt.lane, receipt.policyHash, signed, salt)
              : await rollup.commitProved(receipt.policyHash, signed, salt, evidence);
          progress.done(`block ${posted.blockNumber}, ${posted.gasUsed} gas`);
          const { header, batchHash, transactionHash, blockNumber, gasUsed } = posted;
          steps.push({ what: 'posting', transactionHash, blockNumber, gasUsed });
          finish({ header, index: 0, path: [] }, { batchHash, before: false, steps }, `posted in batch ${batchHash}`);
        },
        accountKey(flags),
      );
    },
  );
}

const FAULT_TEXT: Readonly<Record<Exclude<BindFault, 'none'>, string>> = {
  lane: 'its lane is not the one that it is posted in',
  policy: 'it names another policy',
  signature: "it is not signed by its executor's key, for this chain and contract",
  order: 'its order is not open, or is for another model, input, items, lane, policy or executor',
  amount: "it charges more than the order's price",
  late: "the order's deliverBy has passed",
};
