/** What `assay doctor` sees of a deployment: whether it works, and on whose word its verdicts rest. */
import { Interface, type Provider } from 'ethers';
import { DEVELOPMENT_CHAIN_ID } from '../../common/development-keys.js';
import { asAssayError, type AssayError } from '../../common/errors.js';
import { isDevelopmentSrs } from '../../prover/index.js';
import type { Hex } from '../../receipts/types.js';
import { chainError } from '../../verifier-contracts/chain-error.js';
import { NOBODY } from '../../verifier-contracts/policy.js';
import { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import { clockModeOf, spanText, timeText } from './clock-text.js';
import { withDeployment, type ChainFlags, type Deployment } from './open-deployment.js';
import { amountText } from './token-unit.js';

export interface Finding {
  readonly part: string;
  /** `absent` parts are optional: Assay works without them. */
  readonly state: 'ok' | 'absent' | 'broken';
  readonly detail: string;
}

const verifierAbi = new Interface(['function srsId() view returns (bytes32)']);

/** Never throws for what it finds on the chain: that is a finding. */
export async function settlementFindings(flags: ChainFlags): Promise<Finding[]> {
  try {
    return await withDeployment(flags, async (deployment) => {
      const { escrow, domain } = deployment;
      const contracts: Finding = {
        part: 'settlement contracts',
        state: 'ok',
        detail: `rollup and escrow ${escrow.address} on chain ${domain.chainId} name each other`,
      };
      return [contracts, await clock(deployment), await token(deployment), ...(await policy(deployment))];
    });
  } catch (thrown) {
    return [broken('settlement contracts', thrown)];
  }
}

async function clock({ escrow, provider }: Deployment): Promise<Finding> {
  const [mode, time, frozen, block] = await Promise.all([
    escrow.clockMode(),
    escrow.clock(),
    escrow.frozen(),
    provider.getBlock('latest'),
  ]);
  const part = 'settlement clock';
  if (frozen)
    return {
      part,
      state: 'broken',
      detail: `frozen: nothing but withdrawals works; the clock stands at ${timeText(time, clockModeOf(mode))}. Wait, or ask the guardian.`,
    };
  const behind = (clockModeOf(mode).timestamp ? block!.timestamp : block!.number) - time;
  const ever = behind === 0 ? 'never frozen' : `${spanText(behind, clockModeOf(mode))} of freezes behind it`;
  return { part, state: 'ok', detail: `${mode}; it is ${timeText(time, clockModeOf(mode))}, ${ever}` };
}

async function token({ escrow, unit, provider }: Deployment): Promise<Finding> {
  const part = 'settlement token';
  if ((await provider.getCode(escrow.token)) === '0x')
    return { part, state: 'broken', detail: `no contract at ${escrow.token}` };
  const [held, { available }] = await Promise.all([escrow.tokenBalanceOf(escrow.address), escrow.reserve()]);
  return {
    part,
    state: 'ok',
    detail: `${unit.symbol} (${unit.decimals} decimals) at ${escrow.token}; the escrow holds ${amountText(held, unit)}, of which ${amountText(available, unit)} are free for audits`,
  };
}

async function policy({ provider, domain, unit }: Deployment): Promise<Finding[]> {
  let client: SettlementClient;
  try {
    client = await SettlementClient.connect({ provider, rollup: domain.verifyingContract });
  } catch (thrown) {
    return [broken('policy', thrown)];
  }
  const { policyHash, policy: terms, court, game } = client;
  const findings: Finding[] = [
    {
      part: 'policy',
      state: 'ok',
      detail: `${policyHash} takes orders; lock at least ${amountText(terms.minLock, unit)}, fee ${terms.protocolFeeBps / 100} %`,
    },
    {
      part: 'sampled lane',
      ...(court === null
        ? { state: 'absent' as const, detail: 'closed by the policy' }
        : {
            state: 'ok' as const,
            detail: `court ${court.address}: ${court.terms.quorum} of ${court.terms.auditors.length} auditors, ${court.terms.drawRatePpm / 10_000} % drawn`,
          }),
    },
    await zkLane(provider, terms.verifier, domain.chainId),
    {
      part: 'optimistic lane',
      ...(terms.game === NOBODY
        ? { state: 'absent' as const, detail: 'closed by the policy' }
        : {
            state: 'ok' as const,
            detail: `game ${terms.game}: ${game!.terms.window} of the chain's time to challenge`,
          }),
    },
  ];
  return findings;
}

async function zkLane(provider: Provider, verifier: Hex, chainId: bigint): Promise<Finding> {
  const part = 'zk lane';
  if (verifier === NOBODY) return { part, state: 'absent', detail: 'closed by the policy' };
  try {
    const answer = await provider.call({ to: verifier, data: verifierAbi.encodeFunctionData('srsId') });
    const srsId = verifierAbi.decodeFunctionResult('srsId', answer)[0] as string;
    if (!isDevelopmentSrs(Buffer.from(srsId.slice(2), 'hex')))
      return { part, state: 'ok', detail: `verifier ${verifier} under the reference string ${srsId}` };
    return {
      part,
      state: chainId === DEVELOPMENT_CHAIN_ID ? 'ok' : 'broken',
      detail: `verifier ${verifier} under the development reference string: anybody can forge a proof`,
    };
  } catch (error) {
    return broken(part, chainError(error, verifierAbi, `verifier ${verifier}`));
  }
}

function broken(part: string, thrown: unknown): Finding {
  const error: AssayError = asAssayError(thrown);
  return { part, state: 'broken', detail: `${error.message} ${error.mend}` };
}
