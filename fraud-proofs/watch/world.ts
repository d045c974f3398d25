/** What one poll reads of the chain, all of it at one block. */
import type { Hex } from '../../receipts/types.js';
import type { Claim, Fault, GameNode } from '../../verifier-contracts/dispute-types.js';
import type { OrderView } from '../../verifier-contracts/escrow-client.js';
import type { ClaimView, GameClient } from '../../verifier-contracts/game-client.js';
import type { Policy } from '../../verifier-contracts/policy.js';
import type { LeafState } from '../../verifier-contracts/rollup-client.js';
import type { Head } from './log-reader.js';

export interface AnswerSeen {
  readonly sender: Hex;
  readonly contentHash: Hex;
  readonly content: Hex;
  /** Segment and Sums: the executor's; else null. */
  readonly signature: Hex | null;
  readonly blockNumber: number;
}

export interface DemandSeen {
  readonly nodeId: Hex;
  readonly node: GameNode;
  readonly demander: Hex;
  /** Last time to answer, by the contracts' clock. */
  readonly answerBy: number;
  readonly deposit: bigint;
  readonly answer: AnswerSeen | null;
  /** Its deposit has been paid out. */
  readonly closed: boolean;
}

/** How a claim was killed. */
export interface KillSeen {
  readonly how: 'proof' | 'timeout';
  readonly fault: Fault | null;
  readonly transactionHash: Hex;
  readonly blockNumber: number;
}

/** The judge of a policy's claims, and the terms that count here. */
export interface GameOf {
  readonly client: GameClient;
  readonly policy: Policy;
  /** From the commit in which a claim may be challenged. */
  readonly window: number;
}

export interface ClaimSeen {
  /** keccak(batchHash | uint256 index). */
  readonly id: Hex;
  readonly batchHash: Hex;
  readonly claim: Claim;
  readonly game: GameOf;
  readonly order: OrderView;
  readonly view: ClaimView;
  readonly state: LeafState;
  /** In the order in which they were made. */
  readonly demands: readonly DemandSeen[];
  readonly kill: KillSeen | null;
}

export interface World {
  readonly head: Head;
  /** Of the head. */
  readonly timestamp: number;
  /** Of the contracts: seconds or blocks, less all frozen time. */
  readonly clock: number;
  readonly frozen: boolean;
  /** Claims that anything can still become of, oldest first. */
  readonly claims: readonly ClaimSeen[];
  /** Batches whose receipts could not be read back. */
  readonly unreadable: readonly { readonly batchHash: Hex; readonly reason: string }[];
  /** Claims that have ended since the scan began. */
  readonly ended: number;
  /** All announcements, in the order of the chain; of which claim they are nobody can tell. */
  readonly precommits: readonly { readonly commitment: Hex; readonly time: number }[];
}
