/**
 * Deploys the settlement contracts on a chain. Everything that can be refused is refused before the first transaction:
 * keys and reference strings for development outside the development chain, settings that contradict each other, an
 * account that cannot pay.
 */
import { createHash } from 'node:crypto';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { JsonRpcProvider, Wallet } from 'ethers';
import { AssayError } from '../../common/errors.js';
import { decodeSrs, isDevelopmentSrs, requireProductionSrs, srsIdOf, type SrsHead } from '../../prover/index.js';
import { developmentHead } from '../../prover/srs/development-srs.js';
import type { Hex } from '../../receipts/types.js';
import { compileContracts, type Artifacts } from '../../verifier-contracts/build.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import { checkCourtTerms, type CourtTerms } from '../../verifier-contracts/court-terms.js';
import {
  deploySettlement,
  type DeployedContract,
  type DeploymentRecord,
  type SettlementOptions,
} from '../../verifier-contracts/deploy.js';
import { checkGameTerms } from '../../verifier-contracts/game-terms.js';
import { checkPolicy, NOBODY } from '../../verifier-contracts/policy.js';
import { refuseDevelopmentKeys } from '../../verifier-contracts/refuse-development-keys.js';
import { checkWritable, readInputFile } from '../files.js';
import { accountKey, withKeyOption, type KeyFlags } from '../settlement/account-key.js';
import {
  checkTimes,
  DEFAULT_SETTINGS,
  formatSettings,
  readSettings,
  type DeploySettings,
} from '../settlement/deploy-settings.js';
import {
  checkRecord,
  codeHash,
  readRecord,
  writeRecord,
  type RecordedContract,
  type RecordFile,
} from '../settlement/deployment-record.js';
import { gasOfCreation } from '../settlement/gas-of-creation.js';
import { address } from '../settlement/open-deployment.js';
import { amountText, COIN, tokenUnit } from '../settlement/token-unit.js';
import { table, toJson, type Terminal } from '../terminal.js';
import { terminalOf, wholeNumber } from './common-options.js';

interface DeployFlags extends KeyFlags {
  rpc?: string;
  policy?: string;
  printPolicy?: true;
  token?: Hex;
  wrapNative?: true;
  srs?: string;
  devSrs?: true;
  auditors?: readonly Hex[];
  quorum?: number;
  disputes?: true;
  governor?: Hex;
  guardian?: Hex;
  out: string;
  yes?: true;
}

export function deployCommand(): Command {
  const command = new Command('deploy')
    .description('Deploy the settlement contracts. Without --yes it prints what it would do and what that costs.')
    .option('--rpc <url>', 'JSON-RPC endpoint of the chain')
    .option('--policy <file>', 'terms, windows and rates (default: those that --print-policy prints)')
    .option('--print-policy', 'print the default of --policy, to change it')
    .addOption(
      new Option('--token <address>', 'the settlement token: an ERC-20 without fee on transfer')
        .argParser(address)
        .conflicts('wrapNative'),
    )
    .option('--wrap-native', "settle in the chain's own coin: a token that wraps it is deployed")
    .addOption(
      new Option(
        '--srs <file>',
        'open the zk lane: its verifier takes proofs under this reference string (`assay srs import`)',
      ).conflicts('devSrs'),
    )
    .option('--dev-srs', 'the same with the development reference string, on the development chain alone')
    .option('--auditors <addresses>', 'open the sampled lane: its auditors, separated by commas', addresses)
    .option('--quorum <count>', 'auditors who must sign a verdict (default: more than half)', wholeNumber)
    .option('--disputes', 'open the optimistic lane: its game, and the contract that recomputes one step, are deployed')
    .option('--governor <address>', 'adds and closes policies, and gets the protocol fee', address)
    .option('--guardian <address>', 'may freeze (default: nobody)', address)
    .option(
      '-o, --out <file>',
      'record of the deployment; with it a deployment goes on where it stopped',
      'deployment.json',
    )
    .option('--yes', 'send the transactions')
    .addHelpText(
      'after',
      `
Example: assay deploy --rpc https://node.example --key-file deployer.key --wrap-native --srs powers.srs \\
           --auditors 0x...,0x...,0x... --governor 0x... --yes`,
    );
  return withKeyOption(command).action(async (flags: DeployFlags, own: Command) => {
    const terminal = terminalOf(own);
    if (flags.printPolicy === true) {
      terminal.result(DEFAULT_SETTINGS, formatSettings(DEFAULT_SETTINGS).trimEnd());
      return;
    }
    const rpc = need(flags.rpc, '--rpc');
    const wallet = accountKey(flags);
    const parts = readParts(flags);
    checkWritable(flags.out);
    const provider = await connectChain(rpc);
    try {
      await deploy({ provider, wallet: wallet.connect(provider), parts, flags }, terminal);
    } finally {
      provider.destroy();
    }
  });
}

/** What is to be deployed, as the flags have it. */
interface Parts {
  readonly settings: DeploySettings;
  readonly token: Hex | 'wrapped-native';
  readonly srs: SrsHead | null;
  readonly court: CourtTerms | null;
  readonly game: DeploySettings['game'] | null;
  readonly governor: Hex;
  readonly guardian: Hex;
}

/** @throws AssayError CONFIG_INVALID, POLICY_INVALID, COURT_TERMS_INVALID, SRS_INVALID, FILE_NOT_FOUND */
function readParts(flags: DeployFlags): Parts {
  const settings = flags.policy === undefined ? DEFAULT_SETTINGS : readSettings(flags.policy);
  if (flags.token === undefined && flags.wrapNative !== true) need(undefined, '--token or --wrap-native');
  const { auditors } = flags;
  if (auditors === undefined && flags.srs === undefined && flags.devSrs !== true && flags.disputes !== true)
    throw new AssayError('CONFIG_INVALID', 'no lane would be open', {
      mend: 'Give --auditors for the sampled lane, --srs for the zk lane, --disputes for the optimistic one, or several.',
    });
  const court =
    auditors === undefined
      ? null
      : { ...settings.court, auditors, quorum: flags.quorum ?? Math.floor(auditors.length / 2) + 1 };
  if (court !== null) checkCourtTerms(court);
  // Whoever judges has no address yet, which makes no difference to the check.
  const judge: Hex = `0x${'11'.repeat(20)}`;
  checkPolicy({ ...settings.policy, verifier: judge, game: judge, court: judge });
  const game = flags.disputes === true ? settings.game : null;
  if (game !== null) checkGameTerms(game);
  const srs = flags.devSrs === true ? developmentHead() : flags.srs === undefined ? null : srsHead(flags.srs);
  return {
    settings,
    token: flags.token ?? 'wrapped-native',
    srs,
    court,
    game,
    governor: need(flags.governor, '--governor'),
    guardian: flags.guardian ?? NOBODY,
  };
}

function srsHead(file: string): SrsHead {
  const { tauG1, tauG2 } = decodeSrs(readInputFile(file), file);
  return { tauG1, tauG2 };
}

interface Setting {
  readonly provider: JsonRpcProvider;
  /** Connected. */
  readonly wallet: Wallet;
  readonly parts: Parts;
  readonly flags: DeployFlags;
}

async function deploy({ provider, wallet, parts, flags }: Setting, terminal: Terminal): Promise<void> {
  const { settings, srs, court, game, token, governor, guardian } = parts;
  const { chainId } = await provider.getNetwork();
  const deployer = wallet.address.toLowerCase() as Hex;
  refuseDevelopmentKeys(chainId, [deployer, governor, guardian, ...(court?.auditors ?? [])]);
  if (srs !== null) requireProductionSrs(srsIdOf(srs), chainId);
  checkTimes(settings, chainId);
  const unit = token === 'wrapped-native' ? { symbol: 'WNATIVE', decimals: 18 } : await tokenUnit(provider, token);

  const compiling = terminal.progress('compiling the contracts', null);
  // As `deploySettlement` compiles them: what is compiled once is kept.
  const folders = ['src', ...(srs === null ? [] : ['src/direct']), ...(game === null ? [] : ['src/dispute'])];
  const artifacts = await compileContracts({ folders });
  compiling.done();
  const names = contractsOf(parts);
  const here = { chainId, deployer, settings: settingsHash(parts, names, artifacts) };
  const before = readRecord(flags.out);
  if (before !== null) await checkRecord(flags.out, before, here, (at) => codeHash(provider, at));
  const done = new Set(before?.contracts.map(({ name }) => name) ?? []);
  const rows = names.map((name) => ({
    name,
    codeBytes: artifacts[name]!.deployedBytes,
    gas: done.has(name) ? 0 : gasOfCreation(artifacts[name]!, wordsOf(name, court), artifacts[PARTS[name] ?? '']),
  }));
  const gas = rows.reduce((sum, row) => sum + row.gas, 0);
  const { maxFeePerGas } = await provider.getFeeData();
  const atMost = BigInt(gas) * (maxFeePerGas ?? 0n);
  const held = await provider.getBalance(deployer);
  const development = srs !== null && isDevelopmentSrs(srsIdOf(srs));
  const plan = [
    `chain ${chainId}, from account ${deployer}`,
    table(
      ['contract', 'code bytes', 'gas, about'],
      rows.map((row) => [row.name, `${row.codeBytes}`, row.gas === 0 ? 'stands already' : `${row.gas}`]),
    ),
    `about ${gas} gas, at the fee of the day at most ${amountText(atMost, COIN)}; the account has ${amountText(held, COIN)}`,
    `settled in ${unit.symbol}; a lock is at least ${amountText(settings.policy.minLock, unit)}`,
    `zk lane ${srs === null ? 'closed' : `open, under the reference string 0x${Buffer.from(srsIdOf(srs)).toString('hex')}${development ? ' (development: anybody can forge a proof)' : ''}`}`,
    `sampled lane ${court === null ? 'closed' : `open: ${court.quorum} of ${court.auditors.length} auditors, ${court.drawRatePpm / 10_000} % drawn`}`,
    `optimistic lane ${game === null ? 'closed' : `open: ${game.window} ${settings.clock === 'timestamp' ? 'seconds' : 'blocks'} to challenge, steps of ${game.maxContraction} products at most`}`,
    `governor ${governor}; ${guardian === NOBODY ? 'nobody may freeze' : `${guardian} may freeze`}`,
  ].join('\n');
  const facts = { chainId, deployer, contracts: rows, gas, atMostWei: atMost, heldWei: held };
  if (before !== null && before.rollup !== null) {
    terminal.result({ sent: false, ...facts, record: before }, `everything stands already\n${addressesText(before)}`);
    return;
  }
  if (flags.yes !== true) {
    terminal.result({ sent: false, ...facts }, `${plan}\n\nNothing was sent. With --yes it will be.`);
    return;
  }
  if (held < atMost)
    throw new AssayError(
      'FUNDS_MISSING',
      `account ${deployer} has ${amountText(held, COIN)}, ${amountText(atMost, COIN)} may be needed`,
      {
        mend: 'Give the account more coins for gas, or wait for a lower fee.',
      },
    );
  terminal.note(plan);
  const record = await sendAll({ provider, wallet, parts, flags }, { artifacts, here, before }, terminal);
  terminal.result(
    { sent: true, ...facts, record },
    `${addressesText(record)}\nrecord in ${flags.out}\n\nA stranger needs: --rollup ${record.rollup}`,
  );
}

async function sendAll(
  { provider, wallet, parts, flags }: Setting,
  known: {
    readonly artifacts: Artifacts;
    readonly here: Pick<RecordFile, 'chainId' | 'deployer' | 'settings'>;
    readonly before: RecordFile | null;
  },
  terminal: Terminal,
): Promise<RecordFile> {
  const { settings, srs, court, game, token, governor, guardian } = parts;
  let record: RecordFile = known.before ?? {
    version: 1,
    ...known.here,
    firstNonce: null,
    contracts: [],
    rollup: null,
    escrow: null,
    token: null,
    policyHash: null,
  };
  const keep = (change: Partial<RecordFile>): void => {
    record = { ...record, ...change };
    writeRecord(flags.out, record);
  };
  const withHash = async (contract: Omit<RecordedContract, 'codeHash'>): Promise<RecordedContract> => ({
    ...contract,
    codeHash: await codeHash(provider, contract.address),
  });
  const options: SettlementOptions = {
    token,
    policies: [settings.policy],
    governor,
    guardian,
    clock: settings.clock,
    policyDelay: settings.policyDelay,
    maxFreeze: settings.maxFreeze,
    coolDown: settings.coolDown,
    ...(court === null ? {} : { court }),
    ...(srs === null ? {} : { verifier: srs }),
    ...(game === null
      ? {}
      : { game: { terms: { window: game.window }, step: 'integer', maxContraction: game.maxContraction } }),
  };
  const started: DeploymentRecord | undefined =
    record.firstNonce === null
      ? undefined
      : { ...known.here, firstNonce: record.firstNonce, contracts: record.contracts as unknown as DeployedContract[] };
  const progress = terminal.progress('deploying the settlement contracts', null);
  const deployment = await deploySettlement(wallet, options, {
    ...(started === undefined ? {} : { record: started }),
    // Kept as soon as it is mined; the hash of its code follows.
    onRecord: ({ firstNonce, contracts }) =>
      keep({
        firstNonce,
        contracts: contracts.map((contract) => ({
          codeHash: null,
          ...record.contracts.find(({ name }) => name === contract.name),
          ...contract,
        })),
      }),
  });
  keep({
    contracts: await Promise.all(record.contracts.map(withHash)),
    rollup: deployment.rollup,
    escrow: deployment.escrow,
    token: deployment.token,
    policyHash: deployment.policyHashes[0]!,
  });
  progress.done(`rollup ${deployment.rollup}`);
  return record;
}

/** In order of deployment. */
function contractsOf({ srs, court, game, token }: Parts): string[] {
  return [
    ...(token === 'wrapped-native' ? ['WrappedNative'] : []),
    ...(srs === null ? [] : ['TapeMaker', 'ProgramStore', 'DirectVerifier']),
    ...(court === null ? [] : ['QuorumCourt']),
    ...(game === null ? [] : ['IntegerStep', 'DisputeGame']),
    'Escrow',
    'ReceiptRollup',
  ];
}

/** Contracts that another one creates in its constructor. */
const PARTS: Readonly<Record<string, string>> = {
  Escrow: 'EscrowChecks',
  IntegerStep: 'IntegerArithmetic',
  DisputeGame: 'NodeChecks',
};

/** Words of storage that the constructor fills: names of the token; the auditors; the policy. */
const wordsOf = (name: string, court: CourtTerms | null): number =>
  ({ WrappedNative: 2, QuorumCourt: 1 + (court?.auditors.length ?? 0), Escrow: 9 })[name] ?? 0;

/** Of everything that decides what is deployed. */
function settingsHash(parts: Parts, names: readonly string[], artifacts: Artifacts): Hex {
  const { srs, ...others } = parts;
  const text = toJson({
    ...others,
    srs: srs === null ? null : Buffer.from(srsIdOf(srs)).toString('hex'),
    code: names.map((name) => artifacts[name]!.bytecode),
  });
  return `0x${createHash('sha256').update(text).digest('hex')}`;
}

/** What the judges of the lanes are called. */
const JUDGES: Readonly<Record<string, string>> = {
  DirectVerifier: 'verifier',
  QuorumCourt: 'court',
  DisputeGame: 'game',
};

function addressesText({ contracts, rollup, escrow, token, policyHash }: RecordFile): string {
  const judges = contracts.filter(({ name }) => JUDGES[name] !== undefined);
  const lines: (readonly [string, Hex | null])[] = [
    ['rollup', rollup],
    ['escrow', escrow],
    ['token', token],
    ...judges.map(({ name, address: at }) => [JUDGES[name]!, at] as const),
    ['policy', policyHash],
  ];
  return lines.map(([name, value]) => `${name.padEnd(9)} ${value}`).join('\n');
}

function need<T>(value: T | undefined, flag: string): T {
  if (value === undefined)
    throw new AssayError('CONFIG_INVALID', `${flag} is missing`, {
      mend: 'Give it; `assay deploy --help` has an example.',
      meta: { flag },
    });
  return value;
}

/** In ascending order, as the court wants them. */
function addresses(flag: string): Hex[] {
  const list = flag.split(',').map((part) => address(part.trim()));
  if (new Set(list).size !== list.length) throw new InvalidArgumentError('an address stands twice');
  return list.sort();
}
