import { Command } from 'commander';
import { readReceipt } from '../../settlement/placed-receipt.js';
import { terminalOf } from '../common-options.js';

export function showCommand(): Command {
  return new Command('show')
    .description('Print what a receipt says; checks nothing.')
    .argument('<file>', 'a receipt file (.json)')
    .action((file: string, _flags: unknown, command: Command) => {
      const receiptFile = readReceipt(file);
      const { receipt, domain, batch, evidence } = receiptFile;
      const lines = Object.entries({ ...receipt, issuedAt: new Date(receipt.issuedAt * 1000).toISOString() }).map(
        ([field, value]) => `  ${field.padEnd(14)} ${String(value)}`,
      );
      const proof =
        receipt.lane !== 'zk'
          ? ''
          : evidence === undefined
            ? '; its proof is still to come'
            : `; with its proof (${evidence.scheme}, ${(evidence.proof.length - 2) / 2} bytes)`;
      const where =
        batch === undefined
          ? 'not posted yet'
          : `leaf ${batch.index} of ${batch.header.count} in batch root ${batch.header.batchRoot}`;
      terminalOf(command).result(
        receiptFile,
        `receipt for chain ${domain.chainId}, rollup ${domain.verifyingContract}\n${lines.join('\n')}\n  ${where}${proof}`,
      );
    });
}
