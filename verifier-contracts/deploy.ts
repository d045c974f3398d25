/**
 * Deploys the settlement contracts, in an order in which each finds what it needs:
 *   token (unless given) -> store of programs and verifiers of proofs (unless given) -> court -> step and game (unless
 *   given) -> escrow, with its first policies in force ->
 *   rollup.
 * Court and escrow name contracts that come later: an address follows from the deployer and his nonce. For the same
 * reason a deployment that was cut short can be taken up again with its record, as long as the deployer has sent
 * nothing else in between.
 */
import { ContractFactory, getCreateAddress, hexlify, Interface, type InterfaceAbi, type Signer } from 'ethers';
import { DEVELOPMENT_CHAIN_ID } from '../common/development-keys.js';
import { AssayError } from '../common/errors.js';
import type { Hex } from '../receipts/types.js';
import { compileContracts, type Artifact, type CompileOptions } from './build.js';
import { chainError } from './chain-error.js';
import { settlementErrors } from './contract-client.js';
import { checkGameTerms, type GameTerms } from './game-terms.js';
import { checkCourtTerms, type CourtTerms } from './court-terms.js';
import { checkPolicy, NOBODY, policyHash, type Policy } from './policy.js';
import { refuseDevelopmentKeys, refuseDevelopmentSrs } from './refuse-development-keys.js';

/** A policy without the contracts that judge under it. */
export type PolicyParameters = Omit<Policy, 'verifier' | 'game' | 'court'>;

export interface SettlementOptions {
  /**
   * ERC-20 without fee on transfer; 'wrapped-native': one is deployed that wraps the chain's own coin.
   * @default 'wrapped-native' on the development chain, nothing elsewhere
   */
  readonly token?: Hex | 'wrapped-native';
  /** Judge of the sampled lane; absent: that lane is closed. */
  readonly court?: CourtTerms;
  /**
   * Checks the proofs of the zk lane: a contract, or the SRS for which a DirectVerifier is deployed. Absent: that lane is
   * closed.
   */
  readonly verifier?: Hex | SrsHead;
  /**
   * Records of the circuits of recursive batches (circuits/batch/record.ts), where the zk lane takes those too. Needs the
   * verifier's SRS.
   */
  readonly batchRecords?: readonly Uint8Array[];
  /** Judge of the optimistic lane: a contract, or what one is deployed with. Absent: that lane is closed. */
  readonly game?: Hex | GameOptions;
  /** In force at once, all under the same judges; at least one. */
  readonly policies: readonly PolicyParameters[];
  /** Adds policies and closes them to new orders. */
  readonly governor: Hex;
  /** May freeze; the zero address: nobody. */
  readonly guardian: Hex;
  /** What times are counted in. @default 'timestamp' */
  readonly clock?: 'timestamp' | 'blocknumber';
  /** From adding a policy until orders may name it, in units of the clock. @default 7 days */
  readonly policyDelay?: number;
  /** Longest freeze. @default 7 days */
  readonly maxFreeze?: number;
  /** From the end of the longest freeze until the next may begin. @default 30 days */
  readonly coolDown?: number;
}

export interface GameOptions {
  readonly terms: GameTerms;
  /** Recomputes one step: a contract, or 'integer' for an IntegerStep that is deployed, or 'float' for a FloatStep. */
  readonly step: Hex | 'integer' | 'float';
  /** Products that one step of an IntegerStep may have; a longer contraction is judged by its stated sums. @default 16384 */
  readonly maxContraction?: number;
}

/** What a verifier needs of a structured reference string; as prover/srs/ has it. */
export interface SrsHead {
  /** tau G1: x, y; 64 bytes. */
  readonly tauG1: Uint8Array;
  /** tau H: x.c1, x.c0, y.c1, y.c0; 128 bytes. */
  readonly tauG2: Uint8Array;
}

export interface DeployedContract {
  readonly name:
    | 'WrappedNative'
    | 'TapeMaker'
    | 'ProgramStore'
    | 'DirectVerifier'
    | 'BatchVerifier'
    | 'ZkVerifier'
    | 'QuorumCourt'
    | 'IntegerStep'
    | 'FloatStep'
    | 'DisputeGame'
    | 'Escrow'
    | 'ReceiptRollup';
  readonly address: Hex;
  readonly transactionHash: Hex;
  readonly blockNumber: number;
  readonly gasUsed: bigint;
}

/** What there is of a deployment; JSON, but for its bigints. */
export interface DeploymentRecord {
  readonly chainId: bigint;
  readonly deployer: Hex;
  /** Nonce of the first transaction: with it every address is fixed. */
  readonly firstNonce: number;
  /** In order of deployment. */
  readonly contracts: readonly DeployedContract[];
}

export interface Deployment extends DeploymentRecord {
  /** All that a stranger needs to know. */
  readonly rollup: Hex;
  readonly escrow: Hex;
  readonly token: Hex;
  /** `NOBODY` where the zk lane is closed. */
  readonly verifier: Hex;
  /** `NOBODY` where the sampled lane is closed. */
  readonly court: Hex;
  /** `NOBODY` where the optimistic lane is closed. */
  readonly game: Hex;
  /** Of the policies, in the given order. */
  readonly policyHashes: readonly Hex[];
  /** Block of the first contract: where a search for events begins. */
  readonly fromBlock: number;
}

export interface DeployProgress {
  /** Of the deployment that is to be taken up. */
  readonly record?: DeploymentRecord;
  /** Told before the first transaction, and whenever a contract is mined; keep it. */
  readonly onRecord?: (record: DeploymentRecord) => void;
  readonly compile?: CompileOptions;
}

/** Products of one step, as the limit of every deployment; a longer contraction is judged by its stated sums. */
const MAX_CONTRACTION = 16_384;
const DAY_SECONDS = 86_400;
/** Block numbers are the clock of chains with slots of twelve seconds. */
const SLOT_SECONDS = 12;
const MINING_TIMEOUT_MS = 120_000;

type AddressOf = (name: DeployedContract['name']) => Hex;

interface Step {
  readonly name: DeployedContract['name'];
  readonly args: (addressOf: AddressOf) => readonly unknown[];
}

/**
 * @param signer with a provider; pays for the deployment and has no rights afterwards
 * @throws AssayError POLICY_INVALID, COURT_TERMS_INVALID, GAME_TERMS_INVALID, DEV_KEY_REFUSED (an anvil account as signer, governor, guardian
 *   or auditor on a real chain), SRS_DEVELOPMENT (the development SRS there), DEPLOYMENT_REFUSED (options that contradict each other, or a record that cannot be
 *   taken up), CONTRACT_BUILD_FAILED, CHAIN_REVERTED, CHAIN_UNAVAILABLE
 */
export async function deploySettlement(
  signer: Signer,
  options: SettlementOptions,
  progress: DeployProgress = {},
): Promise<Deployment> {
  const { provider } = signer;
  if (provider === null) throw new AssayError('INTERNAL', 'deploySettlement: the signer has no provider');
  if (options.court !== undefined) checkCourtTerms(options.court);
  if (isGame(options.game)) checkGameTerms(options.game.terms);
  const what = 'deploying the settlement contracts';
  const { chainId, deployer, nonce } = await guard(what, async () => ({
    chainId: (await provider.getNetwork()).chainId,
    deployer: (await signer.getAddress()).toLowerCase() as Hex,
    nonce: await provider.getTransactionCount(await signer.getAddress()),
  }));
  refuseDevelopmentKeys(chainId, [deployer, options.governor, options.guardian, ...(options.court?.auditors ?? [])]);
  if (isHead(options.verifier)) refuseDevelopmentSrs(chainId, options.verifier);
  const token = options.token ?? (chainId === DEVELOPMENT_CHAIN_ID ? 'wrapped-native' : undefined);
  if (token === undefined) throw refused(`chain ${chainId}: name the settlement token`);
  const steps = plan(options, token);
  const folders = ['src'];
  if (isHead(options.verifier)) folders.push('src/direct');
  if (options.batchRecords !== undefined) folders.push('src/batch');
  if (isGame(options.game)) {
    folders.push('src/dispute');
    if (options.game.step === 'float') folders.push('src/dispute/float');
  }
  const artifacts = await compileContracts({ folders, ...progress.compile });

  let record = progress.record ?? { chainId, deployer, firstNonce: nonce, contracts: [] };
  if (record.chainId !== chainId || record.deployer !== deployer) {
    throw refused(`the record is of chain ${record.chainId} and account ${record.deployer}`);
  }
  const addressOf: AddressOf = (name) => {
    const i = steps.findIndex((step) => step.name === name);
    if (i < 0) return NOBODY;
    return getCreateAddress({ from: deployer, nonce: record.firstNonce + i }).toLowerCase() as Hex;
  };
  progress.onRecord?.(record);
  for (const [i, { name, args }] of steps.entries()) {
    if (record.contracts[i]?.name === name) continue;
    const at = await guard(what, () => provider.getTransactionCount(deployer));
    if (at !== record.firstNonce + i) {
      throw refused(`${name} was to be transaction ${record.firstNonce + i} of ${deployer}, which is at ${at}`);
    }
    const mined = await guard(`deploying ${name}`, () =>
      deployOne(signer, artifacts[name]!, args(addressOf), addressOf(name), name),
    );
    record = { ...record, contracts: [...record.contracts, mined] };
    progress.onRecord?.(record);
  }
  const court = addressOf('QuorumCourt');
  const game = isGame(options.game) ? addressOf('DisputeGame') : (options.game ?? NOBODY);
  const verifier = isHead(options.verifier) ? addressOf(verifierOf(options)) : (options.verifier ?? NOBODY);
  return {
    ...record,
    rollup: addressOf('ReceiptRollup'),
    escrow: addressOf('Escrow'),
    token: token === 'wrapped-native' ? addressOf('WrappedNative') : token,
    verifier,
    court,
    game,
    policyHashes: policiesOf(options, verifier, court, game).map(policyHash),
    fromBlock: record.contracts[0]!.blockNumber,
  };
}

function plan(options: SettlementOptions, token: Hex | 'wrapped-native'): readonly Step[] {
  const { court, game, governor, guardian, clock = 'timestamp' } = options;
  if (options.policies.length === 0) throw refused('at least one policy is needed, or no order can ever be opened');
  // The judges' addresses are not known yet; which they are makes no difference to the check.
  const [anyVerifier, anyCourt, anyGame] = [options.verifier, court, game].map((judge) =>
    judge === undefined ? NOBODY : governor,
  );
  policiesOf(options, anyVerifier!, anyCourt!, anyGame!).forEach(checkPolicy);
  const unit = clock === 'timestamp' ? 1 : SLOT_SECONDS;
  const days = (count: number): number => (count * DAY_SECONDS) / unit;
  if (options.batchRecords !== undefined && !isHead(options.verifier))
    throw refused('records of recursive batches need the SRS that their proofs are opened with');
  const steps: Step[] = [];
  if (token === 'wrapped-native') steps.push({ name: 'WrappedNative', args: () => [] });
  const { verifier } = options;
  if (isHead(verifier)) {
    steps.push({ name: 'TapeMaker', args: () => [] });
    steps.push({ name: 'ProgramStore', args: (at) => [at('TapeMaker')] });
    const words = [wordsOf('tauG1', verifier.tauG1, 2), wordsOf('tauG2', verifier.tauG2, 4)];
    steps.push({ name: 'DirectVerifier', args: (at) => [...words, at('ProgramStore')] });
    const { batchRecords } = options;
    if (batchRecords !== undefined) {
      const records = batchRecords.map((record) => hexlify(record));
      steps.push({ name: 'BatchVerifier', args: () => [...words, records] });
      steps.push({ name: 'ZkVerifier', args: (at) => [at('DirectVerifier'), at('BatchVerifier')] });
    }
  }
  if (court !== undefined) {
    steps.push({ name: 'QuorumCourt', args: (at) => [at('ReceiptRollup'), at('Escrow'), court] });
  }
  if (isGame(game)) {
    const { terms, step, maxContraction = MAX_CONTRACTION } = game;
    if (step === 'integer') steps.push({ name: 'IntegerStep', args: () => [maxContraction] });
    if (step === 'float') steps.push({ name: 'FloatStep', args: () => [] });
    const stepAt = (at: AddressOf): Hex => {
      if (step === 'integer') return at('IntegerStep');
      return step === 'float' ? at('FloatStep') : step;
    };
    steps.push({ name: 'DisputeGame', args: (at) => [at('ReceiptRollup'), at('Escrow'), stepAt(at), terms] });
  }
  steps.push({
    name: 'Escrow',
    args: (at) => [
      token === 'wrapped-native' ? at('WrappedNative') : token,
      at('ReceiptRollup'),
      clock === 'timestamp',
      governor,
      guardian,
      options.policyDelay ?? days(7),
      options.maxFreeze ?? days(7),
      options.coolDown ?? days(30),
      policiesOf(
        options,
        isHead(verifier) ? at(verifierOf(options)) : (verifier ?? NOBODY),
        at('QuorumCourt'),
        isGame(game) ? at('DisputeGame') : (game ?? NOBODY),
      ),
    ],
  });
  steps.push({ name: 'ReceiptRollup', args: (at) => [at('Escrow')] });
  return steps;
}

function policiesOf({ policies }: SettlementOptions, verifier: Hex, court: Hex, game: Hex): Policy[] {
  return policies.map((policy) => ({ ...policy, verifier, game, court }));
}

const verifierOf = ({ batchRecords }: SettlementOptions): 'DirectVerifier' | 'ZkVerifier' =>
  batchRecords === undefined ? 'DirectVerifier' : 'ZkVerifier';

function isGame(game: Hex | GameOptions | undefined): game is GameOptions {
  return typeof game === 'object';
}

function isHead(verifier: Hex | SrsHead | undefined): verifier is SrsHead {
  return typeof verifier === 'object';
}

/** Words of 32 bytes. */
function wordsOf(name: string, bytes: Uint8Array, count: number): bigint[] {
  if (bytes.length !== 32 * count) throw refused(`SRS: ${name}: expected ${32 * count} bytes, found ${bytes.length}`);
  return Array.from({ length: count }, (_, i) => BigInt(hexlify(bytes.subarray(32 * i, 32 * (i + 1)))));
}

async function deployOne(
  signer: Signer,
  { abi, bytecode }: Artifact,
  args: readonly unknown[],
  address: Hex,
  name: DeployedContract['name'],
): Promise<DeployedContract> {
  const contract = await new ContractFactory(new Interface(abi as InterfaceAbi), bytecode, signer).deploy(...args);
  const mined = (await contract.deploymentTransaction()!.wait(1, MINING_TIMEOUT_MS))!;
  if (mined.contractAddress?.toLowerCase() !== address) {
    throw refused(
      `${name} came to lie at ${mined.contractAddress}, not at ${address}: the account sent something else`,
    );
  }
  return {
    name,
    address,
    transactionHash: mined.hash as Hex,
    blockNumber: mined.blockNumber,
    gasUsed: mined.gasUsed,
  };
}

async function guard<T>(what: string, question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    throw chainError(error, settlementErrors, what);
  }
}

function refused(why: string): AssayError {
  return new AssayError('DEPLOYMENT_REFUSED', `deployment: ${why}`);
}
