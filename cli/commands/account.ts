/** Money and nodes of one account: what requesters and executors need of the escrow beside their orders. */
import { Command } from 'commander';
import type { Wallet } from 'ethers';
import { signNodeRegistration, type Hex } from '../../receipts/index.js';
import { refuseDevelopmentKeys } from '../../verifier-contracts/refuse-development-keys.js';
import { AssayError } from '../../common/errors.js';
import { accountKey, readKeyFile, withKeyOption, type KeyFlags } from '../settlement/account-key.js';
import {
  address,
  sendStep,
  withChainOptions,
  withDeployment,
  type ChainFlags,
  type Deployment,
  type Step,
} from '../settlement/open-deployment.js';
import { amountText, COIN, parseAmount, type TokenUnit } from '../settlement/token-unit.js';
import type { Terminal } from '../terminal.js';
import { terminalOf } from './common-options.js';

type SenderFlags = ChainFlags & KeyFlags;

interface Balances {
  /** In the escrow, not locked: withdrawable at once. */
  readonly free: bigint;
  /** Of the settlement token, outside the escrow. */
  readonly outside: bigint;
  /** Of the chain's own coin: what gas is paid with. */
  readonly coins: bigint;
}

export function accountCommand(): Command {
  return new Command('account')
    .description('Money in the escrow, and the nodes that earn and answer for it.')
    .addCommand(balanceCommand())
    .addCommand(depositCommand())
    .addCommand(withdrawCommand())
    .addCommand(fundReserveCommand())
    .addCommand(registerNodeCommand())
    .addCommand(retireNodeCommand());
}

const EXAMPLE_CHAIN = '--rpc http://127.0.0.1:8545 --rollup 0x...';

function balanceCommand(): Command {
  const command = new Command('balance')
    .description('What an account holds: free in the escrow, of the token, and coins for gas.')
    .argument('[address]', 'the account (default: that of the key)', address)
    .addHelpText('after', `\nExample: assay account balance 0x... ${EXAMPLE_CHAIN}`);
  return withKeyOption(withChainOptions(command)).action(
    async (given: Hex | undefined, flags: SenderFlags, own: Command) => {
      const account = given ?? addressOf(accountKey(flags));
      await withDeployment(flags, async (deployment) => {
        const { unit, escrow } = deployment;
        const balances = await balancesOf(deployment, account);
        terminalOf(own).result(
          { account, escrow: escrow.address, token: escrow.token, unit, ...balances },
          `${account}\n${balancesText(balances, unit)}`,
        );
      });
    },
  );
}

function depositCommand(): Command {
  const command = new Command('deposit')
    .description('Move tokens into the escrow: there they pay for orders, or stand behind a node.')
    .argument('<amount>', 'in units of the token, as in 1.5')
    .option('--wrap', "wrap that much of the chain's own coin first (where the token is the wrapped coin)")
    .option('--for <address>', 'the account that it shall belong to (default: that of the key)', address)
    .addHelpText('after', `\nExample: assay account deposit 1.5 --wrap ${EXAMPLE_CHAIN} --key-file requester.key`);
  return transacting(command, async (deployment, terminal, sender, flags, amountFlag) => {
    const { escrow, unit } = deployment;
    const amount = parseAmount(amountFlag, unit);
    const account = flags.for ?? sender;
    const steps: Step[] = [];
    const send = async (call: Parameters<typeof sendStep>[2], what: string): Promise<void> => {
      steps.push(await sendStep(terminal, escrow, call, what));
    };
    if (flags.wrap === true) await send(escrow.wrapCall(amount), `wrapping ${amountText(amount, COIN)}`);
    const held = await escrow.tokenBalanceOf(sender);
    if (held < amount)
      throw tooLittle(`account ${sender} holds ${amountText(held, unit)}, ${amountText(amount, unit)} are to go in`, {
        mend: 'Give less, or --wrap where the token is the wrapped coin of the chain.',
      });
    if ((await escrow.allowanceOf(sender)) < amount) await send(escrow.approveCall(amount), 'allowing the escrow');
    await send(escrow.depositCall(account, amount), `depositing ${amountText(amount, unit)}`);
    return { account, amount, steps, text: `${amountText(amount, unit)} deposited for ${account}` };
  });
}

function withdrawCommand(): Command {
  const command = new Command('withdraw')
    .description('Take free tokens out of the escrow; works always, also while it is frozen.')
    .argument('<amount>', 'in units of the token, as in 1.5')
    .option('--to <address>', 'where they go (default: the account of the key)', address)
    .addHelpText('after', `\nExample: assay account withdraw 0.25 ${EXAMPLE_CHAIN} --key-file executor.key`);
  return transacting(command, async (deployment, terminal, sender, flags, amountFlag) => {
    const { escrow, unit } = deployment;
    const amount = parseAmount(amountFlag, unit);
    const to = flags.to ?? sender;
    await requireFree(deployment, sender, amount);
    const step = await sendStep(
      terminal,
      escrow,
      escrow.withdrawCall(amount, to),
      `withdrawing ${amountText(amount, unit)}`,
    );
    return { account: sender, to, amount, steps: [step], text: `${amountText(amount, unit)} sent to ${to}` };
  });
}

function fundReserveCommand(): Command {
  const command = new Command('fund-reserve')
    .description(
      'Give free tokens to the reserve that audits of the sampled lane are paid from; they do not come back.',
    )
    .argument('<amount>', 'in units of the token, as in 1.5')
    .addHelpText('after', `\nExample: assay account fund-reserve 0.1 ${EXAMPLE_CHAIN} --key-file governor.key`);
  return transacting(command, async (deployment, terminal, sender, _flags, amountFlag) => {
    const { escrow, unit } = deployment;
    const amount = parseAmount(amountFlag, unit);
    await requireFree(deployment, sender, amount);
    const step = await sendStep(
      terminal,
      escrow,
      escrow.fundReserveCall(amount),
      `funding the reserve with ${amountText(amount, unit)}`,
    );
    const { available, held } = await escrow.reserve();
    return {
      account: sender,
      amount,
      reserve: { available, held },
      steps: [step],
      text: `the reserve has ${amountText(available, unit)} for new orders and holds ${amountText(held, unit)} for open ones`,
    };
  });
}

function registerNodeCommand(): Command {
  const command = new Command('register-node')
    .description('Make a signer key the node of your account: its locks and earnings are yours, for ever.')
    .requiredOption('--signer-file <file>', 'the private key of the node, as in DATA/executor.key')
    .addHelpText(
      'after',
      `\nExample: assay account register-node --signer-file node/executor.key ${EXAMPLE_CHAIN} --key-file owner.key`,
    );
  return transacting(command, async ({ escrow, domain, provider }, terminal, sender, { signerFile }) => {
    const wallet = readKeyFile(signerFile!);
    const signer = addressOf(wallet);
    refuseDevelopmentKeys((await provider.getNetwork()).chainId, [signer]);
    const node = await escrow.nodeOf(signer);
    if (node.account !== null) {
      // Said again by its own account it is done; nobody else can have it.
      if (node.account !== sender || !node.active)
        throw nodeError(
          `signer ${signer} is registered by account ${node.account}${node.active ? '' : ', and retired'}`,
        );
      return { signer, account: sender, steps: [], text: `${signer} is a node of ${sender} already` };
    }
    const signature = await signNodeRegistration({ account: sender, signer }, domain, wallet);
    const step = await sendStep(terminal, escrow, escrow.registerNodeCall(signer, signature), `registering ${signer}`);
    return { signer, account: sender, steps: [step], text: `${signer} is now a node of ${sender}` };
  });
}

function retireNodeCommand(): Command {
  const command = new Command('retire-node')
    .description('No new orders for a node of yours; those that are open go on.')
    .argument('<signer>', "the node's address", address)
    .addHelpText('after', `\nExample: assay account retire-node 0x... ${EXAMPLE_CHAIN} --key-file owner.key`);
  return transacting(command, async ({ escrow }, terminal, sender, _flags, signer) => {
    const node = await escrow.nodeOf(signer as Hex);
    if (node.account !== sender)
      throw nodeError(
        `signer ${signer} is ${node.account === null ? 'no registered node' : `a node of ${node.account}`}`,
      );
    if (!node.active) return { signer, account: sender, steps: [], text: `${signer} takes no orders already` };
    const step = await sendStep(terminal, escrow, escrow.retireNodeCall(signer as Hex), `retiring ${signer}`);
    return { signer, account: sender, steps: [step], text: `${signer} takes no new orders` };
  });
}

interface TransactionFlags extends SenderFlags {
  wrap?: true;
  for?: Hex;
  to?: Hex;
  signerFile?: string;
}

type Outcome = Readonly<Record<string, unknown>> & { readonly account: Hex; readonly text: string };

/** A command of one sender; prints what it did, and what the sender holds afterwards. */
function transacting(
  command: Command,
  act: (
    deployment: Deployment,
    terminal: Terminal,
    sender: Hex,
    flags: TransactionFlags,
    argument: string,
  ) => Promise<Outcome>,
): Command {
  return withKeyOption(withChainOptions(command)).action(async (...given: unknown[]) => {
    const own = given.at(-1) as Command;
    const flags = given.at(-2) as TransactionFlags;
    const terminal = terminalOf(own);
    const wallet = accountKey(flags);
    const sender = addressOf(wallet);
    await withDeployment(
      flags,
      async (deployment) => {
        const { text, ...outcome } = await act(deployment, terminal, sender, flags, String(given[0]));
        const balances = await balancesOf(deployment, sender);
        terminal.result(
          { ...outcome, unit: deployment.unit, balances },
          `${text}\n${sender} now has\n${balancesText(balances, deployment.unit)}`,
        );
      },
      wallet,
    );
  });
}

async function balancesOf({ escrow, provider }: Deployment, account: Hex): Promise<Balances> {
  const [free, outside, coins] = await Promise.all([
    escrow.freeOf(account),
    escrow.tokenBalanceOf(account),
    provider.getBalance(account),
  ]);
  return { free, outside, coins };
}

const balancesText = ({ free, outside, coins }: Balances, unit: TokenUnit): string =>
  [
    `  free in the escrow  ${amountText(free, unit)}`,
    `  of the token        ${amountText(outside, unit)}`,
    `  for gas             ${amountText(coins, COIN)}`,
  ].join('\n');

async function requireFree({ escrow, unit }: Deployment, account: Hex, amount: bigint): Promise<void> {
  const free = await escrow.freeOf(account);
  if (free < amount)
    throw tooLittle(`account ${account} has ${amountText(free, unit)} free, ${amountText(amount, unit)} are wanted`, {
      mend: 'Take less, or wait until locks and orders have ended.',
    });
}

const addressOf = ({ address: checksummed }: Wallet): Hex => checksummed.toLowerCase() as Hex;

const tooLittle = (message: string, { mend }: { mend: string }): AssayError =>
  new AssayError('FUNDS_MISSING', message, { mend });

const nodeError = (message: string): AssayError => new AssayError('NODE_FOREIGN', message);
