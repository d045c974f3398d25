/** The settlement contracts on a private anvil, with money in them, for the deployments of fixture.ts. */
import { ContractFactory, id, Interface, Wallet, type InterfaceAbi, type JsonRpcProvider } from 'ethers';
import { signNodeRegistration } from '../../receipts/index.js';
import type { Hex } from '../../receipts/types.js';
import { anvilKey, startAnvil, type Anvil, type AnvilOptions } from '../../verifier-contracts/anvil.js';
import { compileContracts } from '../../verifier-contracts/build.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import type { Call } from '../../verifier-contracts/contract-client.js';
import { deploySettlement, type PolicyParameters, type SrsHead } from '../../verifier-contracts/deploy.js';
import type { EscrowClient } from '../../verifier-contracts/escrow-client.js';
import { testPolicy } from '../../verifier-contracts/harness/settlement-fixture.js';
import { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import { auditors, executorWallets, requester } from './fixture.js';

const addressOf = ({ address }: { readonly address: string }): Hex => address.toLowerCase() as Hex;

export interface DeployOptions {
  readonly drawRatePpm?: number;
  /** By the chain's clock. */
  readonly auditWindow?: number;
  readonly policy?: Partial<PolicyParameters>;
  /** Challenge window by the chain's clock. @default the optimistic lane is closed */
  readonly window?: number;
  /** Checks the proofs of the zk lane. @default a HarnessVerifier, which is told what is proved */
  readonly verifier?: SrsHead;
  /** Of the circuits of recursive batches. */
  readonly batchRecords?: readonly Uint8Array[];
  /** What the requester deposits. */
  readonly requesterFunds?: bigint;
}

/** Nobody demands an output here, but everybody waits for the time in which one might. */
const QUICK: Partial<PolicyParameters> = { deliveryWindow: 2 };

export const governor = new Wallet(id('governor of the kill test'));
/** Enough for every order of a test. */
const FUNDS = 10n ** 15n;

/**
 * @returns the address of a fresh rollup, with funds for the requester and the audits. Deployed by anvil's account 9, so
 * that account 0 posts from nonce 0.
 */
export async function deployTestSettlement(url: string, options: DeployOptions = {}): Promise<Hex> {
  // Not destroyed: ethers may still be asking for the mined deployment, and would reject that in nobody's hands.
  const provider = await connectChain(url);
  const deployer = new Wallet(anvilKey(9), provider);
  const { abi, bytecode } = (await compileContracts({ folders: ['harness'] }))['HarnessVerifier']!;
  const verifier = await new ContractFactory(new Interface(abi as InterfaceAbi), bytecode, deployer).deploy();
  await verifier.waitForDeployment();
  const { rollup } = await deploySettlement(deployer, {
    token: 'wrapped-native',
    court: {
      beaconDelay: 1,
      auditWindow: options.auditWindow ?? 80_000,
      drawRatePpm: options.drawRatePpm ?? 1_000_000,
      quorum: 2,
      auditors: auditors.map(addressOf),
    },
    verifier: options.verifier ?? (((await verifier.getAddress()) as Hex).toLowerCase() as Hex),
    ...(options.batchRecords === undefined ? {} : { batchRecords: options.batchRecords }),
    ...(options.window === undefined ? {} : { game: { terms: { window: options.window }, step: 'integer' as const } }),
    policies: [{ ...testPolicy, ...QUICK, ...options.policy }],
    governor: addressOf(governor),
    guardian: addressOf(governor),
  });
  const { escrow } = await SettlementClient.connect({ provider, rollup });
  await fund(provider, escrow, requester, options.requesterFunds ?? FUNDS);
  await fund(provider, escrow, governor, FUNDS);
  await sendAs(provider, governor, escrow.fundReserveCall(FUNDS));
  return rollup;
}

/** A chain with the contracts on it; to load it takes a tenth of the time of making it. */
export interface PreparedChain {
  readonly rollup: Hex;
  readonly state: string;
}

const prepared = new Map<string, Promise<PreparedChain>>();

/** @param names of the executors that are registered; the same arguments are prepared once. */
export function prepareChain(options: DeployOptions = {}, names: readonly string[] = ['one']): Promise<PreparedChain> {
  const key = JSON.stringify([options, names], (_, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  );
  const known = prepared.get(key) ?? prepare(options, names);
  prepared.set(key, known);
  return known;
}

async function prepare(options: DeployOptions, names: readonly string[]): Promise<PreparedChain> {
  // A block for every transaction: nobody waits.
  const anvil = await startAnvil();
  try {
    const rollup = await deployTestSettlement(anvil.url, options);
    await Promise.all(names.map((name) => enrol(anvil.url, rollup, name)));
    const provider = await connectChain(anvil.url);
    const state = (await provider.send('anvil_dumpState', [])) as string;
    provider.destroy();
    return { rollup, state };
  } finally {
    await anvil.stop();
  }
}

/** A private chain that goes on from there. */
export async function startPrepared({ state }: PreparedChain, options: AnvilOptions = {}): Promise<Anvil> {
  const anvil = await startAnvil(options);
  const provider = await connectChain(anvil.url);
  await provider.send('anvil_loadState', [state]);
  provider.destroy();
  return anvil;
}

/** Accounts behind the executors of that name. */
export const accountWallets = (name: string): Record<'honest' | 'cheat', Wallet> => ({
  honest: new Wallet(id(`account honest ${name}`)),
  cheat: new Wallet(id(`account cheat ${name}`)),
});

/** Registers the executors of that name, each under an account of its own with funds for its locks. */
export async function enrol(url: string, rollup: Hex, name: string, funds = FUNDS): Promise<void> {
  const provider = await connectChain(url);
  const { escrow, domain } = await SettlementClient.connect({ provider, rollup });
  const nodes = executorWallets(name);
  const accounts = accountWallets(name);
  await Promise.all(
    (['honest', 'cheat'] as const).map(async (kind) => {
      const registration = { account: addressOf(accounts[kind]), signer: addressOf(nodes[kind]) };
      await fund(provider, escrow, accounts[kind], funds);
      const signature = await signNodeRegistration(registration, domain, nodes[kind]);
      await sendAs(provider, accounts[kind], escrow.registerNodeCall(registration.signer, signature));
    }),
  );
  provider.destroy();
}

/** Gives an account coins, and puts some of them into the escrow. */
export async function fund(
  provider: JsonRpcProvider,
  escrow: EscrowClient,
  wallet: Wallet,
  amount: bigint,
): Promise<void> {
  await provider.send('anvil_setBalance', [wallet.address, '0xffffffffffffffffffff']);
  const calls = [escrow.wrapCall(amount), escrow.approveCall(amount), escrow.depositCall(addressOf(wallet), amount)];
  for (const call of calls) await sendAs(provider, wallet, call);
}

export async function sendAs(provider: JsonRpcProvider, wallet: Wallet, call: Call): Promise<void> {
  await (await wallet.connect(provider).sendTransaction(call)).wait();
}
