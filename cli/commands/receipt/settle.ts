import { Command } from 'commander';
import type { OrderState } from '../../../verifier-contracts/escrow-client.js';
import type { LeafState } from '../../../verifier-contracts/rollup-client.js';
import { EXIT } from '../../exit-codes.js';
import { accountKey, withKeyOption, type KeyFlags } from '../../settlement/account-key.js';
import { sendStep, withChainOptions, withDeployment, type ChainFlags } from '../../settlement/open-deployment.js';
import { boundOrder, readReceipt } from '../../settlement/placed-receipt.js';
import { amountText } from '../../settlement/token-unit.js';
import { terminalOf } from '../common-options.js';

/** What stands between an order and its end; the contract says the last word. */
const WAITS: Partial<Record<LeafState, string>> = {
  pending: 'its court has not spoken yet and still may',
  challengeable: 'it may still be challenged',
};

export function settleCommand(): Command {
  const command = new Command('settle')
    .description("Pay out orders as the chain's verdict on their receipts says. Anybody may send it.")
    .argument('<files...>', 'receipt files with their orders (.json)')
    .addHelpText(
      'after',
      '\nExample: assay receipt settle receipt.json --rpc http://127.0.0.1:8545 --rollup 0x... --key-file executor.key',
    );
  return withKeyOption(withChainOptions(command)).action(
    async (files: string[], flags: ChainFlags & KeyFlags, own: Command) => {
      const terminal = terminalOf(own);
      const given = files.map((file) => ({ file, content: readReceipt(file) }));
      await withDeployment(
        flags,
        async (deployment) => {
          const { escrow, rollup, unit } = deployment;
          const before: { file: string; state: OrderState }[] = [];
          const waiting: { file: string; reason: string }[] = [];
          const ready: { file: string; bound: Awaited<ReturnType<typeof boundOrder>> }[] = [];
          for (const { file, content } of given) {
            const { state } = await escrow.orderOf(content.receipt.orderHash);
            if (state === 'paid' || state === 'slashed' || state === 'refunded') {
              before.push({ file, state });
              continue;
            }
            const bound = await boundOrder(file, content, deployment);
            const reason = WAITS[await rollup.leafStateOf(bound.header, bound.index)];
            if (reason === undefined) ready.push({ file, bound });
            else waiting.push({ file, reason });
          }
          const steps =
            ready.length === 0
              ? []
              : [
                  await sendStep(
                    terminal,
                    escrow,
                    escrow.settleCall(ready.map(({ bound }) => bound)),
                    `settling ${ready.length} of ${files.length}`,
                  ),
                ];
          const ended = steps[0] === undefined ? [] : await escrow.endedIn(steps[0].transactionHash);
          terminal.result(
            { ended, before, waiting, steps, unit },
            [
              ...ended.map(
                ({ orderHash, state, toRequester, toAccount, burnt }) =>
                  `${state}  ${orderHash}: ${amountText(toRequester, unit)} to the requester, ${amountText(toAccount, unit)} to the executor's account${burnt > 0n ? `, ${amountText(burnt, unit)} burnt` : ''}`,
              ),
              ...before.map(({ file, state }) => `${state} before  ${file}`),
              ...waiting.map(({ file, reason }) => `waits  ${file}: ${reason}`),
            ].join('\n'),
          );
          if (waiting.length > 0) process.exitCode = EXIT.undetermined;
        },
        accountKey(flags),
      );
    },
  );
}
