import { Command, Option } from 'commander';
import type { Tamper } from '../../fraud-proofs/step/inject.js';
import { DEFAULT_LIE } from '../demo/dispute-one.js';
import { runDemo, type DemoSummary } from '../demo/run-demo.js';
import { parseTamper } from '../disputes/parse-tamper.js';
import { EXIT } from '../exit-codes.js';
import { table } from '../terminal.js';
import { terminalOf, wholeNumber } from './common-options.js';

interface DemoFlags {
  data: string;
  jobs: number;
  cheatJobs: number;
  tamper: Tamper;
  keepChain?: true;
}

export function demoCommand(): Command {
  return new Command('demo')
    .description(
      'The whole way of a job on embedded parts: compile, order, run, commit, audit, dispute, prove, pay; cheats are caught and slashed.',
    )
    .option('--data <folder>', 'data folder, wiped at the start', '.assay/demo')
    .option('--jobs <count>', 'digits for the honest executor', wholeNumber, 64)
    .option('--cheat-jobs <count>', 'digits for each of the three executors that cheat', wholeNumber, 8)
    .addOption(
      new Option(
        '--tamper <lie>',
        'what the executor alters that cheats in the optimistic lane: op or slot, element, delta',
      )
        .argParser(parseTamper)
        .default(DEFAULT_LIE, 'slot=2,element=77,delta=1'),
    )
    .option('--keep-chain', 'leave the chain running, to verify the receipts against it afterwards')
    .action(async (flags: DemoFlags, command: Command) => {
      const terminal = terminalOf(command);
      const { data: folder, jobs, cheatJobs, tamper: lie, keepChain = false } = flags;
      const summary = await runDemo({ folder, jobs, cheatJobs, lie, keepChain }, terminal);
      terminal.result(summary, summaryText(summary));
      if (!summary.success) process.exitCode = EXIT.invalid;
    });
}

function summaryText(summary: DemoSummary): string {
  const { model, chain, players, disputed, proved, together, success, receipts, seconds } = summary;
  const rows = players.map((p) => [
    p.executor,
    `${p.jobs}`,
    `${p.lies}`,
    `${p.audited}`,
    `${p.valid}`,
    `${p.invalid}`,
    `${p.undetermined}`,
    `${p.paid}`,
    `${p.slashed}`,
    `${((100 * p.right) / Math.max(p.jobs, 1)).toFixed(1)} %`,
  ]);
  const total = players.reduce((sum, { jobs }) => sum + jobs, 0);
  const folder = receipts.replace(/receipts$/, '');
  const trust = `--rpc ${chain.rpc} --rollup ${chain.rollup} --bundle ${folder}${model.name}.assay`;
  const next =
    chain.rpc === null
      ? ['npx assay demo --keep-chain    (then it says how to check receipts and accounts against the chain)']
      : [
          `npx assay receipt verify ${receipts}/000-rejected.json ${trust}`,
          `npx assay receipt verify ${proved.receipt} ${trust}`,
          `npx assay doctor --rpc ${chain.rpc} --rollup ${chain.rollup}`,
        ];
  const chainText =
    chain.rpc === null
      ? 'the chain ended with the demo (--keep-chain leaves it running)'
      : `the chain goes on at ${chain.rpc}`;
  return `
${table(['executor', 'jobs', 'lies', 'audited', 'valid', 'invalid', 'undetermined', 'paid', 'slashed', 'digits right'], rows)}

${success ? 'Every true receipt is final and valid, and paid; every lie is invalid on chain, and its executor slashed.' : 'NOT as it should be: see the tables.'}
${total} receipts in ${chain.batches} batch${chain.batches === 1 ? '' : 'es'}, ${seconds.toFixed(1)} s in all
model ${model.name}, digest ${model.digest}

In the optimistic lane a watcher found the one element that was altered: slot ${disputed.lie.slot}, element ${disputed.lie.element}, ${disputed.lie.is} instead of ${disputed.lie.was}. In a
process of its own, which knew the chain, the model and where traces are served, it proved that to the contract in
${disputed.transactions.length} transactions (${disputed.transactions.map(({ call, gas }) => `${call} ${gas} gas`).join(', ')}), ${disputed.seconds.toFixed(1)} s after it was started.

One digit more was proved: accepted ${proved.seconds.toFixed(1)} s after its order with a proof of ${proved.proofBytes} bytes. The contract checked the
proof in the transaction that posted it (block ${proved.onChain.block}): ${proved.onChain.status} at once. A stranger with the model's key
checks it in ${proved.verifyMs.toFixed(0)} ms without a chain: ${proved.verdict}. Forged:
${proved.forgeries.map(({ what, verdict, reason }) => `  ${what}: ${verdict}, ${cut(reason)}`).join('\n')}

${together.digits} digits more were proved together: one joint proof of all, wrapped once in Groth16, ${together.seconds.toFixed(1)} s from their orders to
${[...new Set(together.statuses)].join(', ')} in block ${together.block}: ${together.gas} gas for the whole transaction, ${Math.round(together.gas / together.digits)} for each.

${moneyText(summary.settlement)}

${gasText(summary.settlement)}

Receipts are in ${receipts}; ${chainText}.

${NOT_SHOWN}

Next:
${[
  ...next,
  `npx assay receipt verify ${proved.receipt} --key ${proved.key} --dev-srs`,
  `npx assay inspect ${folder}${model.name}.assay`,
  'npx assay compile your-model.onnx --calibration samples.npz',
  'npx assay drill --tamper op=2,element=100,delta=1',
  'npx assay doctor',
]
  .map((line) => `  ${line}`)
  .join('\n')}`;
}

/** Of the demo's token, which wraps the chain's coin. */
const DECIMALS = 18;
/** All amounts of the demo are multiples of a millionth. */
const SHOWN_DECIMALS = 6;

function shown(amount: bigint): string {
  const millionths = amount / 10n ** BigInt(DECIMALS - SHOWN_DECIMALS);
  const digits = String(millionths < 0n ? -millionths : millionths).padStart(SHOWN_DECIMALS + 1, '0');
  return `${millionths < 0n ? '-' : ''}${digits.slice(0, -SHOWN_DECIMALS)}.${digits.slice(-SHOWN_DECIMALS)}`;
}

function moneyText({ price, surcharge, lock, fee, skippedS, money }: DemoSummary['settlement']): string {
  const { rows, sum, supply, contract, balanced, asAgreed } = money;
  const lines = rows.map(({ party, before, inOrders, after }) => [
    party,
    shown(before),
    shown(inOrders),
    shown(after),
    shown(after - before),
  ]);
  lines.push(['sum', shown(sum.before), '', shown(sum.after), shown(sum.after - sum.before)]);
  return `Money, in WNATIVE (price ${shown(price)}, surcharge ${shown(surcharge)}, lock ${shown(lock)}, fee ${shown(fee)} of each order)
${table(['account', 'before', 'put into orders', 'after', 'change'], lines)}
${
  balanced
    ? `The sums are equal, and equal to all tokens that exist (${shown(supply.after)}); the contract holds ${shown(contract.after)}, the rest is burnt.`
    : `NOT balanced: sums ${shown(sum.before)} and ${shown(sum.after)}, tokens ${shown(supply.before)} and ${shown(supply.after)}, in the contract ${shown(contract.before)} and ${shown(contract.after)}.`
}
${
  asAgreed
    ? 'To the unit: honest work earned its price less the fee, each lie cost its lock, the requester paid for true answers only.'
    : 'NOT as the terms say: somebody has more or less than his orders give.'
}
Windows are values for development: ${skippedS} s of waiting were skipped by putting the clock of the chain forward.`;
}

function gasText({ gas }: DemoSummary['settlement']): string {
  const rows = gas.map(({ call, transactions, gas: used, units }) => [
    call,
    `${transactions}`,
    `${used}`,
    units === null ? '' : `${units}`,
    units === null ? '' : `${Math.round(used / units)}`,
  ]);
  return `Gas\n${table(['call', 'transactions', 'gas', 'orders', 'gas each'], rows)}`;
}

const NOT_SHOWN = `What is not shown
${table(
  ['here', 'in earnest'],
  [
    ["anvil's well-known keys, a reference string whose secret is public", 'own keys, the powers of a public ceremony'],
    ['a key of the batch circuit whose secrets are public', 'a ceremony for each circuit'],
    ['one machine, one operator of everything', 'operators who do not know each other'],
    [
      'a draw seeded by a block hash, which a block producer can bias',
      'a beacon of threshold signatures (its contract is there, its court is not yet)',
    ],
    [
      "a quorum of named auditors, who sign what the service's audit found",
      'a court that draws checkers (not built yet)',
    ],
    [
      'a challenge window of a minute, and a watcher started by the demo',
      'a day, and watchers of many owners (`assay watch`)',
    ],
    ['windows of seconds, and a clock that is put forward', 'hours and days'],
    ['contracts that nobody outside has audited', 'an audit, before real money'],
  ],
)}`;

/** Reasons name roots and addresses in full; the summary needs the beginning. */
const cut = (reason: string): string => (reason.length <= 90 ? reason : `${reason.slice(0, 90)}...`);
