/**
 * Typed client of DisputeGame.sol, the judge of the optimistic lane.
 *
 * `…Call` gives the bytes of a transaction without sending it; the methods of the same names send one through the client's
 * signer and wait. A refusal that means "somebody has done it" (DemandKnown, DemandAnswered, ClaimDead) is a CHAIN_REVERTED
 * like any other; its `meta.error` tells.
 */
import { Interface, type Log } from 'ethers';
import { batchHash as hashBatch, type BatchHeader } from '../receipts/batch.js';
import type { Hex } from '../receipts/types.js';
import { headerValue } from '../receipts/verify-receipt.js';
import { disputeGameAbi } from './bindings/DisputeGame.js';
import {
  ContractClient,
  orNull,
  sentTransaction,
  type BlockTag,
  type Call,
  type ChainContext,
  type SentTransaction,
} from './contract-client.js';
import type { Claim, Fault, FaultProof, GameNode, NodePath } from './dispute-types.js';
import { boundOrderValue, type BoundOrder } from './escrow-client.js';
import { readAnswer, readDemand, type AnswerCalldata, type DemandCalldata } from './game-calldata.js';
import type { GameTerms } from './game-terms.js';
import {
  claimId,
  claimValue,
  faultCommitment,
  faultNumber,
  faultOfNumber,
  nodeOfValue,
  nodeValue,
  pathValue,
} from './game-values.js';

export { readAnswer, readDemand, type AnswerCalldata, type DemandCalldata } from './game-calldata.js';
export { claimId, faultCommitment, faultOfNumber, nodeId, nodeOfValue } from './game-values.js';

export const gameInterface = new Interface(disputeGameAbi);

/** A claim as the game sees it. */
export interface ClaimView {
  /** Demands ever made, those of trace, inputs and outputs apart: they set the surcharge. */
  readonly demands: number;
  /** Last time to prove, and to demand below an answered node of the deepest level. */
  readonly until: number;
  /** When the first waiting demand is due; null where none waits. */
  readonly nextAnswerBy: number | null;
  /** A fault was proved. */
  readonly killed: boolean;
  /** The bounty of its overdue demand was paid. */
  readonly timedOut: boolean;
}

export interface DemandView {
  readonly demander: Hex;
  readonly answerBy: number;
  readonly level: number;
  readonly answered: boolean;
  readonly deposit: bigint;
  /** Of the deposit: burnt if the claim stands. */
  readonly surcharge: bigint;
  /** Gets `cost` if the claim stands; null: the executor's account, and until answered. */
  readonly payee: Hex | null;
  readonly cost: bigint;
  /** Segment, sums: hash of what the executor said; null until then. Else: what an answer is compared with. */
  readonly contentHash: Hex | null;
  /** Its deposit has been paid out. */
  readonly closed: boolean;
}

/** Who is to be paid for a kill, and the secret of his announcement. */
export interface Announcement {
  readonly beneficiary: Hex;
  /** 32 bytes. */
  readonly salt: Hex;
}

/** What happened in the game, in the order of the chain. */
export type GameEvent = {
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly transactionHash: Hex;
  readonly logIndex: number;
} & (
  | {
      readonly kind: 'demanded';
      readonly claim: Hex;
      readonly nodeId: Hex;
      readonly demander: Hex;
      readonly node: GameNode;
      readonly answerBy: number;
      readonly deposit: bigint;
      /** Null where the demander is a contract. */
      readonly calldata: DemandCalldata | null;
    }
  | {
      readonly kind: 'answered';
      readonly claim: Hex;
      readonly nodeId: Hex;
      readonly sender: Hex;
      readonly contentHash: Hex;
      readonly calldata: AnswerCalldata;
    }
  | { readonly kind: 'precommitted'; readonly commitment: Hex; readonly time: number }
  | {
      readonly kind: 'faultProved';
      readonly claim: Hex;
      readonly faultId: Hex;
      readonly fault: Fault;
      readonly beneficiary: Hex;
    }
  | { readonly kind: 'timedOut'; readonly claim: Hex; readonly nodeId: Hex; readonly demander: Hex }
  | { readonly kind: 'bountyPaid'; readonly claim: Hex; readonly beneficiary: Hex; readonly amount: bigint }
  | { readonly kind: 'bountyLeft'; readonly claim: Hex; readonly amount: bigint; readonly claimableUntil: number }
  | { readonly kind: 'bountyBurnt'; readonly claim: Hex; readonly amount: bigint }
  | {
      readonly kind: 'depositClosed';
      readonly claim: Hex;
      readonly nodeId: Hex;
      readonly toDemander: bigint;
      readonly toPayee: bigint;
      readonly burnt: bigint;
    }
);

export class GameClient extends ContractClient {
  private constructor(
    context: ChainContext,
    address: Hex,
    readonly terms: GameTerms,
    /** The contract that recomputes one step. */
    readonly step: Hex,
  ) {
    super(context, address, gameInterface);
  }

  /** Reads the game's terms. @throws AssayError CHAIN_UNAVAILABLE, CHAIN_MISMATCH, CHAIN_REVERTED */
  static async at(context: ChainContext, address: Hex): Promise<GameClient> {
    const unread = new GameClient(context, address, { window: 0 }, address);
    const [window, step] = await Promise.all([unread.view('window', []), unread.view('step', [])]);
    return new GameClient(context, address, { window: Number(window) }, (step as string).toLowerCase() as Hex);
  }

  /** Last time, by the contract's clock, at which a claim without demands may be challenged. */
  windowEndOf(header: BatchHeader): number {
    return header.committedAt + this.terms.window;
  }

  // Calls

  /**
   * The deposit is taken from the free balance of whoever sends; see `EscrowClient.allowCall`.
   * @param evidence segment, sums: for the step contract
   */
  demandCall(claim: Claim, node: GameNode, path: NodePath, evidence: Hex = '0x'): Call {
    return this.callOf('demand', [claimValue(claim), nodeValue(node), pathValue(path), evidence]);
  }

  /**
   * Of what a hash binds: all but segments and sums. Sent by a plain account.
   * @param content as `answer` of IDisputeGame.sol says
   */
  answerCall({ header, index }: Claim, node: GameNode, content: Hex): Call {
    const claim = claimId(hashBatch(header, this.domain), index);
    return this.callOf('answer', [claim, nodeValue(node), content]);
  }

  /** Of a segment or sums. Sent by a plain account. @param signature the executor's, see `signOpening` */
  stateCall(claim: Claim, node: GameNode, content: Hex, signature: Hex): Call {
    return this.callOf('state', [claimValue(claim), nodeValue(node), content, signature]);
  }

  /** @param commitment see `faultCommitment` */
  precommitCall(commitment: Hex): Call {
    return this.callOf('precommit', [commitment]);
  }

  proveFaultCall(bound: BoundOrder, proof: FaultProof, { beneficiary, salt }: Announcement): Call {
    const accusation = [boundOrderValue(bound), faultNumber(proof.fault), proof.evidence];
    return this.callOf('proveFault', [...accusation, beneficiary, salt]);
  }

  timeoutCall(bound: BoundOrder): Call {
    return this.callOf('timeout', [boundOrderValue(bound)]);
  }

  /** @param proof of the fault as it was announced; it need not be the one that the claim was killed for */
  claimBountyCall(bound: BoundOrder, proof: FaultProof, { beneficiary, salt }: Announcement): Call {
    const accusation = [boundOrderValue(bound), faultNumber(proof.fault), proof.evidence];
    return this.callOf('claimBounty', [...accusation, beneficiary, salt]);
  }

  closeDemandsCall(claim: Claim, nodeIds: readonly Hex[]): Call {
    return this.callOf('closeDemands', [claimValue(claim), nodeIds]);
  }

  // Senders

  /** @throws AssayError CHAIN_REVERTED (DemandKnown, NodeInvalid, TooLate, InsufficientAllowance ...), CHAIN_UNAVAILABLE */
  async demand(claim: Claim, node: GameNode, path: NodePath, evidence: Hex = '0x'): Promise<SentTransaction> {
    return sentTransaction(await this.send(this.demandCall(claim, node, path, evidence), 'demand'));
  }

  /** @throws AssayError CHAIN_REVERTED (DemandAnswered, AnswerInvalid, ClaimDead ...), CHAIN_UNAVAILABLE */
  async answer(claim: Claim, node: GameNode, content: Hex): Promise<SentTransaction> {
    return sentTransaction(await this.send(this.answerCall(claim, node, content), 'answer'));
  }

  /** @throws AssayError CHAIN_REVERTED (DemandAnswered, OpeningUnsigned, ClaimDead ...), CHAIN_UNAVAILABLE */
  async state(claim: Claim, node: GameNode, content: Hex, signature: Hex): Promise<SentTransaction> {
    return sentTransaction(await this.send(this.stateCall(claim, node, content, signature), 'state'));
  }

  /** Announces that `announcement.beneficiary` will prove this fault. @throws AssayError CHAIN_REVERTED, CHAIN_UNAVAILABLE */
  async precommit(claim: Hex, proof: FaultProof, { beneficiary, salt }: Announcement): Promise<SentTransaction> {
    const commitment = faultCommitment(claim, proof.faultId, beneficiary, salt);
    return sentTransaction(await this.send(this.precommitCall(commitment), 'precommit'));
  }

  /** @throws AssayError CHAIN_REVERTED (NoFault, ClaimDead, ClaimFinal, RelianceUnknown ...), CHAIN_UNAVAILABLE */
  async proveFault(bound: BoundOrder, proof: FaultProof, announcement: Announcement): Promise<SentTransaction> {
    return sentTransaction(await this.send(this.proveFaultCall(bound, proof, announcement), 'proveFault'));
  }

  /** @throws AssayError CHAIN_REVERTED (NotOverdue, ClaimDead), CHAIN_UNAVAILABLE */
  async timeout(bound: BoundOrder): Promise<SentTransaction> {
    return sentTransaction(await this.send(this.timeoutCall(bound), 'timeout'));
  }

  /** @throws AssayError CHAIN_REVERTED (BountyUnavailable), CHAIN_UNAVAILABLE */
  async claimBounty(bound: BoundOrder, proof: FaultProof, announcement: Announcement): Promise<SentTransaction> {
    return sentTransaction(await this.send(this.claimBountyCall(bound, proof, announcement), 'claimBounty'));
  }

  /** @throws AssayError CHAIN_REVERTED (ClaimOpen, DemandUnknown), CHAIN_UNAVAILABLE */
  async closeDemands(claim: Claim, nodeIds: readonly Hex[]): Promise<SentTransaction> {
    return sentTransaction(await this.send(this.closeDemandsCall(claim, nodeIds), 'closeDemands'));
  }

  // Views

  async claimOf(batchHash: Hex, header: BatchHeader, index: number, blockTag: BlockTag = 'latest'): Promise<ClaimView> {
    const view = (await this.view('claimOf', [batchHash, headerValue(header), index], blockTag)) as AbiResult;
    return {
      demands: Number(view['demands']),
      until: Number(view['until']),
      nextAnswerBy: Number(view['nextAnswerBy']) || null,
      killed: view['killed'] as boolean,
      timedOut: view['timedOut'] as boolean,
    };
  }

  /** Null where this was not demanded. @param policyHash of the claim */
  async demandOf(policyHash: Hex, claim: Hex, node: Hex, blockTag: BlockTag = 'latest'): Promise<DemandView | null> {
    const view = (await this.view('demandOf', [policyHash, claim, node], blockTag)) as AbiResult;
    const demander = orNull(view['demander']);
    if (demander === null) return null;
    return {
      demander,
      answerBy: Number(view['answerBy']),
      level: Number(view['level']),
      answered: view['answered'] as boolean,
      deposit: view['deposit'] as bigint,
      surcharge: view['surcharge'] as bigint,
      payee: orNull(view['payee']),
      cost: view['cost'] as bigint,
      contentHash: orNull(view['contentHash']),
      closed: view['closed'] as boolean,
    };
  }

  /** Deposit that a demand of this node would take now, at most; elements of chunks may be narrower than four bytes. */
  async depositOf(claim: Claim, node: GameNode): Promise<bigint> {
    return (await this.view('depositOf', [claimValue(claim), nodeValue(node)])) as bigint;
  }

  /** A bounty that is left open, and the last time to claim it; null where there is none. */
  async bountyOf(
    batchHash: Hex,
    index: number,
    blockTag: BlockTag = 'latest',
  ): Promise<{ readonly amount: bigint; readonly claimableUntil: number } | null> {
    const view = await this.viewAll('bountyOf', [claimId(batchHash, index)], blockTag);
    const amount = view['amount'] as bigint;
    return amount === 0n ? null : { amount, claimableUntil: Number(view['claimableUntil']) };
  }

  /** Time of the first announcement; null where there is none. */
  async precommittedAt(commitment: Hex, blockTag: BlockTag = 'latest'): Promise<number | null> {
    return Number(await this.view('precommittedAt', [commitment], blockTag)) || null;
  }

  // Events

  /** All that happened in these blocks, both included, with what was said in the calldata. @throws AssayError CHAIN_UNAVAILABLE */
  async eventsBetween(fromBlock: number, toBlock: BlockTag): Promise<GameEvent[]> {
    const logs = await this.guard('events', () => this.provider.getLogs({ address: this.address, fromBlock, toBlock }));
    const events: GameEvent[] = [];
    for (const log of logs) {
      const event = await this.#eventOf(log);
      if (event !== null) events.push(event);
    }
    return events;
  }

  async #eventOf(log: Log): Promise<GameEvent | null> {
    const parsed = gameInterface.parseLog(log);
    if (parsed === null) return null;
    const args = parsed.args as unknown as AbiResult;
    const hex = (name: string): Hex => (args[name] as string).toLowerCase() as Hex;
    const place = {
      blockNumber: log.blockNumber,
      blockHash: log.blockHash as Hex,
      transactionHash: log.transactionHash as Hex,
      logIndex: log.index,
    };
    switch (parsed.name) {
      case 'Demanded':
        return {
          ...place,
          kind: 'demanded',
          claim: hex('claim'),
          nodeId: hex('nodeId'),
          demander: hex('demander'),
          node: nodeOfValue(args['node'] as AbiResult),
          answerBy: Number(args['answerBy']),
          deposit: args['deposit'] as bigint,
          calldata: readDemand(await this.#calldataOf(place.transactionHash)),
        };
      case 'Answered':
        return {
          ...place,
          kind: 'answered',
          claim: hex('claim'),
          nodeId: hex('nodeId'),
          sender: hex('sender'),
          contentHash: hex('contentHash'),
          // The contract takes answers from the transaction's own sender alone.
          calldata: readAnswer(await this.#calldataOf(place.transactionHash))!,
        };
      case 'Precommitted':
        return { ...place, kind: 'precommitted', commitment: hex('commitment'), time: Number(args['time']) };
      case 'FaultProved':
        return {
          ...place,
          kind: 'faultProved',
          claim: hex('claim'),
          faultId: hex('faultId'),
          fault: faultOfNumber(args['fault'] as bigint),
          beneficiary: hex('beneficiary'),
        };
      case 'TimedOut':
        return { ...place, kind: 'timedOut', claim: hex('claim'), nodeId: hex('nodeId'), demander: hex('demander') };
      case 'BountyPaid':
        return {
          ...place,
          kind: 'bountyPaid',
          claim: hex('claim'),
          beneficiary: hex('beneficiary'),
          amount: args['amount'] as bigint,
        };
      case 'BountyLeft':
        return {
          ...place,
          kind: 'bountyLeft',
          claim: hex('claim'),
          amount: args['amount'] as bigint,
          claimableUntil: Number(args['claimableUntil']),
        };
      case 'BountyBurnt':
        return { ...place, kind: 'bountyBurnt', claim: hex('claim'), amount: args['amount'] as bigint };
      case 'DepositClosed':
        return {
          ...place,
          kind: 'depositClosed',
          claim: hex('claim'),
          nodeId: hex('nodeId'),
          toDemander: args['toDemander'] as bigint,
          toPayee: args['toPayee'] as bigint,
          burnt: args['burnt'] as bigint,
        };
      default:
        return null;
    }
  }

  async #calldataOf(transactionHash: Hex): Promise<Hex> {
    const transaction = await this.guard(`transaction ${transactionHash}`, () =>
      this.provider.getTransaction(transactionHash),
    );
    return (transaction?.data ?? '0x') as Hex;
  }
}

type AbiResult = Readonly<Record<string, unknown>>;
