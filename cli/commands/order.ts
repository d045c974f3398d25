/** Orders on chain, for either side, with no service between: open one, look at one, end one that was not delivered. */
import { Command } from 'commander';
import { AssayError } from '../../common/errors.js';
import { hashOrder, type Hex, type JobOrder } from '../../receipts/index.js';
import type { OpenFault, OrderState, OrderView, SignedOrder } from '../../verifier-contracts/escrow-client.js';
import { EXIT } from '../exit-codes.js';
import { accountKey, withKeyOption, type KeyFlags } from '../settlement/account-key.js';
import { checkDomain } from '../settlement/check-domain.js';
import { clockModeOf, timeText, type ClockMode } from '../settlement/clock-text.js';
import { sendStep, withChainOptions, withDeployment, type ChainFlags } from '../settlement/open-deployment.js';
import { readOrderFile, type OrderFile } from '../settlement/order-file.js';
import { amountText, type TokenUnit } from '../settlement/token-unit.js';
import { terminalOf } from './common-options.js';

export function orderCommand(): Command {
  return new Command('order')
    .description('Open an order on chain, see how it stands, end one that was not delivered.')
    .addCommand(statusCommand())
    .addCommand(openCommand())
    .addCommand(expireCommand());
}

const FILE_ARGUMENT = 'an order file, or a receipt file that carries its order (.json)';
const EXAMPLE_CHAIN = '--rpc http://127.0.0.1:8545 --rollup 0x...';

function statusCommand(): Command {
  const command = new Command('status')
    .description('How an order stands on chain, and what can be done next.')
    .argument('<file>', FILE_ARGUMENT)
    .addHelpText('after', `\nExample: assay order status order.json ${EXAMPLE_CHAIN}`);
  return withChainOptions(command).action(async (file: string, flags: ChainFlags, own: Command) => {
    const given = readOrderFile(file);
    await withDeployment(flags, async ({ domain, escrow, unit }) => {
      checkDomain(file, given.domain, domain);
      const orderHash = hashOrder(given.order, domain);
      const [view, now, mode] = await Promise.all([escrow.orderOf(orderHash), escrow.clock(), escrow.clockMode()]);
      const signed = signedOrder(given);
      const fault = view.state === 'none' && signed !== null ? await escrow.openFaultOf(signed) : null;
      const next = nextOf(view, given.order, { now, fault, clock: clockModeOf(mode) });
      terminalOf(own).result(
        { orderHash, ...view, clock: now, clockMode: mode, openFault: fault, next, unit },
        [`${view.state}: ${next}`, ...linesOf(given.order, orderHash, view, unit, clockModeOf(mode))].join('\n'),
      );
    });
  });
}

function openCommand(): Command {
  const command = new Command('open')
    .description('Lock the price of orders and the stake of their executors. Anybody may send it; both have signed.')
    .argument('<files...>', FILE_ARGUMENT)
    .addHelpText('after', `\nExample: assay order open order.json ${EXAMPLE_CHAIN} --key-file requester.key`);
  return withKeyOption(withChainOptions(command)).action(
    async (files: string[], flags: ChainFlags & KeyFlags, own: Command) => {
      const terminal = terminalOf(own);
      const given = files.map((file) => ({ file, ...readOrderFile(file) }));
      await withDeployment(
        flags,
        async ({ domain, escrow }) => {
          const orders: SignedOrder[] = [];
          for (const { file, ...parts } of given) {
            checkDomain(file, parts.domain, domain);
            const order = signedOrder(parts);
            if (order === null)
              throw new AssayError('ORDER_FILE_MALFORMED', `${file}: lacks the signature of requester or executor`, {
                mend: 'An order is opened with the signatures of both sides: get the one that is missing.',
                meta: { file },
              });
            const fault = await escrow.openFaultOf(order);
            // Opened before is what was asked for.
            if (fault === 'none') orders.push(order);
            else if (fault !== 'known')
              throw new AssayError('ORDER_UNOPENABLE', `${file}: ${FAULT_TEXT[fault]}`, { meta: { file, fault } });
          }
          const steps =
            orders.length === 0
              ? []
              : [
                  await sendStep(
                    terminal,
                    escrow,
                    escrow.openCall(orders),
                    `opening ${orders.length} of ${files.length}`,
                  ),
                ];
          const { skipped } =
            steps[0] === undefined ? { skipped: [] } : await escrow.openedIn(steps[0].transactionHash);
          const opened = orders.length - skipped.length;
          terminal.result(
            { opened, before: files.length - orders.length, skipped, steps },
            [
              `${opened} opened, ${files.length - orders.length} open before`,
              ...skipped.map(({ orderHash, fault }) => `  ${orderHash} left out: ${FAULT_TEXT[fault]}`),
            ].join('\n'),
          );
          if (skipped.length > 0) process.exitCode = EXIT.invalid;
        },
        accountKey(flags),
      );
    },
  );
}

function expireCommand(): Command {
  const command = new Command('expire')
    .description('End an open order that was not delivered in time: everything back, and the no-show fee on top.')
    .argument('<file>', FILE_ARGUMENT)
    .addHelpText('after', `\nExample: assay order expire order.json ${EXAMPLE_CHAIN} --key-file requester.key`);
  return withKeyOption(withChainOptions(command)).action(
    async (file: string, flags: ChainFlags & KeyFlags, own: Command) => {
      const terminal = terminalOf(own);
      const { order, domain: made } = readOrderFile(file);
      await withDeployment(
        flags,
        async ({ domain, escrow, unit }) => {
          checkDomain(file, made, domain);
          const orderHash = hashOrder(order, domain);
          const view = await escrow.orderOf(orderHash);
          if (view.state === 'open' && (await escrow.clock()) <= view.deliverBy) {
            const until = timeText(view.deliverBy, clockModeOf(await escrow.clockMode()));
            terminal.result({ orderHash, state: view.state, until }, `open: the executor has until ${until}`);
            process.exitCode = EXIT.undetermined;
            return;
          }
          if (view.state !== 'open') {
            terminal.result({ orderHash, state: view.state }, `${view.state}: ${STATE_TEXT[view.state]}`);
            if (view.state !== 'refunded') process.exitCode = EXIT.invalid;
            return;
          }
          const step = await sendStep(terminal, escrow, escrow.expireCall(order), `ending order ${orderHash}`);
          const [end] = await escrow.endedIn(step.transactionHash);
          terminal.result(
            { orderHash, state: end!.state, toRequester: end!.toRequester, steps: [step], unit },
            `refunded: ${amountText(end!.toRequester, unit)} to ${order.requester}`,
          );
        },
        accountKey(flags),
      );
    },
  );
}

/** Null where a signature is missing. */
const signedOrder = ({ order, orderSignature, acceptance }: Omit<OrderFile, 'domain'>): SignedOrder | null =>
  orderSignature === undefined || acceptance === undefined
    ? null
    : { order, requesterSignature: orderSignature, executorSignature: acceptance };

/** What keeps an order from being opened, and the mend. */
const FAULT_TEXT: Readonly<Record<OpenFault, string>> = {
  none: 'it can be opened',
  known: 'it was opened before',
  expired: 'its validUntil has passed; sign a new order',
  'deliver-too-soon': "its deliverBy is nearer than the policy's minDeliver; sign a new order with more time",
  policy: 'its policy is unknown, not yet in force, or closed to new orders',
  lane: 'its policy has nobody to judge its lane',
  size: 'no items, or more than 65,536 bytes of output, or a deliverBy beyond 48 bits',
  amount: 'price and surcharge, or the lock that follows from them, do not fit 128 bits',
  node: 'its executor is no registered node, or was retired or suspended',
  'requester-signature': "the requester's signature does not hold",
  'executor-signature': "the executor's signature does not hold",
  'requester-funds': 'the requester has less than price and surcharge free in the escrow (`assay account deposit`)',
  'executor-funds': "the executor's account has less than the lock free in the escrow (`assay account deposit`)",
  reserve: "the audit reserve cannot earmark the audit's fee (`assay account fund-reserve`)",
};

const STATE_TEXT: Readonly<Record<OrderState, string>> = {
  none: 'not on this chain',
  open: 'opened, not delivered yet',
  bound: 'delivered: its receipt decides',
  paid: 'the executor was paid',
  slashed: 'the executor lost its lock, the requester has its money back',
  refunded: 'the requester has its money back',
};

function nextOf(
  { state, deliverBy, undelivered, openDemands }: OrderView,
  order: JobOrder,
  { now, fault, clock }: { now: number; fault: OpenFault | null; clock: ClockMode },
): string {
  if (state === 'none') {
    if (fault === null) return `${STATE_TEXT.none}; it lacks a signature to be opened`;
    return `${STATE_TEXT.none}; ${fault === 'none' ? 'it can be opened (`assay order open`)' : FAULT_TEXT[fault]}`;
  }
  if (state === 'open')
    return now > deliverBy
      ? 'it was not delivered in time: anybody may end it (`assay order expire`)'
      : `a receipt can bind until ${timeText(order.deliverBy, clock)} (\`assay receipt post\`)`;
  if (state === 'bound') {
    if (undelivered) return 'an answer was late: it will be refunded (`assay receipt settle`)';
    if (openDemands > 0) return `${openDemands} demands for the output wait for an answer (\`assay receipt answer\`)`;
    return 'it is paid out as its receipt is judged (`assay receipt settle`)';
  }
  return STATE_TEXT[state];
}

function linesOf(order: JobOrder, orderHash: Hex, view: OrderView, unit: TokenUnit, clock: ClockMode): string[] {
  const lines: [string, string][] = [
    ['order', orderHash],
    ['requester', order.requester],
    ['executor', `${order.executor}${view.account === null ? '' : `, of account ${view.account}`}`],
    ['lane', order.lane],
    ['price', `${amountText(order.price, unit)} and ${amountText(order.surcharge, unit)} towards audits`],
  ];
  if (view.state !== 'none') lines.push(['lock', amountText(view.lock, unit)]);
  lines.push(['deliver by', timeText(order.deliverBy, clock)], ['open until', timeText(order.validUntil, clock)]);
  return lines.map(([name, text]) => `  ${name.padEnd(11)} ${text}`);
}
