/** What `assay watch doctor` looks at: whether a dispute that begins now would be won, by a watcher and by an executor. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { asAssayError } from '../../common/errors.js';
import { disputeCapacity } from '../../fraud-proofs/answer/capacity.js';
import { supports } from '../../fraud-proofs/step/supports.js';
import { findInputs } from '../../fraud-proofs/watch/sources.js';
import { baseDeposit, type PollReport } from '../../fraud-proofs/watch/watcher.js';
import { settlementChain } from '../../pipeline/chain/settlement-chain.js';
import type { Hex } from '../../receipts/types.js';
import { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import { stepLimit } from '../../verifier-contracts/step-limit.js';
import { readKeyFile } from '../settlement/account-key.js';
import type { Finding } from '../settlement/findings.js';
import { amountText, COIN } from '../settlement/token-unit.js';
import { HeldTraces } from './held-traces.js';
import { sourcesOf, withWatch, type OpenedWatch, type WatchFlags } from './open-watch.js';

export interface DoctorFlags extends WatchFlags {
  disputes: number;
  /** Data folder of an executor that is to be looked at too. */
  home?: string;
}

/** Transactions of one full dispute: four demands, precommit, proof; at most so much gas in all. */
const DISPUTE_GAS = 4_000_000n;
const DEMANDS_A_DISPUTE = 4n;
/** Below so many base deposits a watcher can be priced out (errata E6). */
const BASE_DEPOSITS = 64n;
/** Further apart, deadlines that are counted in seconds are misjudged. */
const MAX_SKEW_SECONDS = 60;

/** Never throws for what it finds: that is a finding. @throws AssayError CONFIG_INVALID for the flags themselves */
export async function watchFindings(flags: DoctorFlags): Promise<Finding[]> {
  // Without --act no key is needed; money is looked at where there is one.
  const executor =
    flags.home === undefined
      ? null
      : { home: flags.home, address: readKeyFile(join(flags.home, 'executor.key')).address.toLowerCase() as Hex };
  return withWatch({ ...flags, dryRun: flags.act !== undefined }, async (opened) => {
    const report = await opened.watcher.poll();
    return [
      { part: 'chain', state: 'ok', detail: `${opened.deployment.domain.chainId}, block ${report.world.head.number}` },
      engine(opened),
      skew(report),
      folder(flags),
      ...(await games(opened, report)),
      ...models(opened, report),
      await inputs(flags, opened, report),
      ...(await money(flags, opened, report)),
      ...(executor === null ? [] : await executorFindings(executor, flags, opened, report)),
    ];
  });
}

function engine({ engine: { name, deviceClass } }: OpenedWatch): Finding {
  const exact = deviceClass !== 'float-only';
  const detail = exact
    ? `${name}: ${deviceClass} by its self-test`
    : `${name} is not exact: its verdicts are worth nothing`;
  return { part: 'engine', state: exact ? 'ok' : 'broken', detail };
}

function skew({ world }: PollReport): Finding {
  const seconds = Math.round(Date.now() / 1000 - world.timestamp);
  const state = seconds < -MAX_SKEW_SECONDS || seconds > 15 * MAX_SKEW_SECONDS ? 'broken' : 'ok';
  const detail = `the newest block is ${seconds} s ${seconds < 0 ? 'ahead of' : 'behind'} this machine`;
  return {
    part: 'clock',
    state,
    detail: state === 'ok' ? detail : `${detail}: node not in step, or a wrong clock here`,
  };
}

function folder({ state, act }: DoctorFlags): Finding {
  if (act === undefined) return { part: 'state', state: 'absent', detail: 'nothing is kept without --act' };
  try {
    return { part: 'state', state: statSync(state).isDirectory() ? 'ok' : 'broken', detail: state };
  } catch {
    return { part: 'state', state: 'ok', detail: `${state} is made when the first announcement is` };
  }
}

/** The games of open claims: what they judge by. */
async function games({ deployment }: OpenedWatch, { claims }: PollReport): Promise<Finding[]> {
  const findings: Finding[] = [];
  const seen = new Set<string>();
  for (const { seen: claim } of claims) {
    const { client, policy, window } = claim.game;
    if (seen.has(client.address)) continue;
    seen.add(client.address);
    const part = `game ${client.address}`;
    try {
      const limit = await stepLimit(deployment.provider, client.step);
      const times = `window ${window}, answer ${policy.answerTime}, response ${policy.responseTime}`;
      findings.push({ part, state: 'ok', detail: `${times}; steps of at most ${limit} products` });
    } catch (thrown) {
      findings.push({ part, state: 'broken', detail: asAssayError(thrown).message });
    }
  }
  return findings;
}

function models({ bundles }: OpenedWatch, { claims }: PollReport): Finding[] {
  const held = new Set<string>(bundles.all.map(({ bundle }) => bundle.digest));
  const missing = new Set(
    claims.map(({ seen }) => seen.claim.receipt.modelDigest).filter((digest) => !held.has(digest)),
  );
  return [
    ...bundles.all.map(({ file, bundle }): Finding => {
      const refusal = supports(bundle.graph);
      const state = refusal === null ? 'ok' : 'broken';
      return {
        part: `model ${bundle.graph.name}`,
        state,
        detail: `${file}: ${bundle.digest}${refusal === null ? '' : `: ${refusal}`}`,
      };
    }),
    ...[...missing].map((digest): Finding => ({
      part: 'model',
      state: 'broken',
      detail: `no bundle with digest ${digest}, of which there are open claims`,
    })),
  ];
}

/** Are the inputs of open claims at hand? What is not must be demanded, which costs time and money. */
async function inputs(flags: DoctorFlags, { bundles }: OpenedWatch, { claims }: PollReport): Promise<Finding> {
  const sources = sourcesOf(flags);
  const part = 'inputs';
  if (sources.length === 0) return { part, state: 'absent', detail: 'no source: they are demanded on chain' };
  let [found, missing] = [0, 0];
  for (const { seen } of claims) {
    const { modelDigest, inputRoot } = seen.claim.receipt;
    const bundle = await bundles.models(modelDigest);
    if (bundle === null) continue;
    if ((await findInputs(sources, bundle, inputRoot)) === null) missing++;
    else found++;
  }
  return {
    part,
    state: missing === 0 ? 'ok' : 'broken',
    detail: `of ${found + missing} open claims, ${found} are at hand`,
  };
}

async function money(flags: DoctorFlags, { deployment, own }: OpenedWatch, { claims }: PollReport): Promise<Finding[]> {
  if (own === null)
    return [{ part: 'money', state: 'absent', detail: 'nobody acts: give --act and a key to look at it' }];
  const { escrow, provider, unit } = deployment;
  const policy = claims[0]?.seen.game.policy;
  const [free, coins, fees] = await Promise.all([escrow.freeOf(own), provider.getBalance(own), provider.getFeeData()]);
  const price = fees.maxFeePerGas ?? 0n;
  const gas = BigInt(flags.disputes) * DISPUTE_GAS * price;
  const findings: Finding[] = [
    {
      part: 'coins for gas',
      state: coins >= gas ? 'ok' : 'broken',
      detail: `${amountText(coins, COIN)}; ${flags.disputes} full disputes take up to ${amountText(gas, COIN)}`,
    },
  ];
  if (policy === undefined)
    return [
      ...findings,
      {
        part: 'deposits',
        state: 'absent',
        detail: `no open claim: no policy to reckon with; ${amountText(free, unit)} free`,
      },
    ];
  const base = baseDeposit(policy);
  const needed =
    base *
    (BigInt(flags.disputes) * DEMANDS_A_DISPUTE > BASE_DEPOSITS
      ? BigInt(flags.disputes) * DEMANDS_A_DISPUTE
      : BASE_DEPOSITS);
  const detail = `${amountText(free, unit)} free; ${flags.disputes} full disputes, and ${BASE_DEPOSITS} base deposits against being priced out, take ${amountText(needed, unit)}`;
  return [...findings, { part: 'deposits', state: free >= needed ? 'ok' : 'broken', detail }];
}

interface Executor {
  readonly home: string;
  readonly address: Hex;
}

/** Could it answer, if everything that it has open were disputed at once? */
async function executorFindings(
  { home, address }: Executor,
  flags: DoctorFlags,
  { bundles, deployment }: OpenedWatch,
  { claims }: PollReport,
): Promise<Finding[]> {
  const own = claims
    .map(({ seen }) => seen)
    .filter(({ claim, state }) => claim.receipt.executor === address && state !== 'dead');
  const findings: Finding[] = [];
  const traces = new HeldTraces(join(home, 'traces'), bundles.models, () =>
    Promise.reject(new Error('nothing is computed here')),
  );
  let held = 0;
  for (const { id, claim } of own) {
    try {
      if (await traces.holds(claim.receipt)) held++;
      else findings.push({ part: 'trace', state: 'broken', detail: `claim ${id}: its trace is not in ${home}` });
    } catch (thrown) {
      findings.push({ part: 'trace', state: 'broken', detail: `claim ${id}: ${asAssayError(thrown).message}` });
    }
  }
  const all = { part: 'traces', state: 'ok' as const, detail: `of ${own.length} own open claims, ${held} are held` };
  findings.unshift(held === own.length ? all : { ...all, state: 'broken' });
  try {
    const client = await SettlementClient.connect({ provider: deployment.provider, rollup: flags.rollup });
    const gasPerTick = await settlementChain(client).gasPerTick();
    const open = own.filter(({ state }) => state === 'challengeable').length;
    for (const { bundle } of bundles.all) {
      const items = own.map(({ claim: { receipt } }) => (receipt.modelDigest === bundle.digest ? receipt.items : 1));
      const { most, answerGas } = disputeCapacity(client.policy, bundle.graph, Math.max(1, ...items), gasPerTick);
      findings.push({
        part: `capacity for ${bundle.graph.name}`,
        state: most >= 1 && open <= most ? 'ok' : 'broken',
        detail: `${open} own claims are open; answers of ${answerGas} gas can be given for ${most} at once`,
      });
    }
  } catch (thrown) {
    findings.push({ part: 'capacity', state: 'broken', detail: asAssayError(thrown).message });
  }
  return findings;
}
