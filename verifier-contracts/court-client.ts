/** Typed client of QuorumCourt.sol, the judge of the sampled lane. */
import { Interface } from 'ethers';
import { batchHash as hashBatch, type BatchHeader } from '../receipts/batch.js';
import type { Hex } from '../receipts/types.js';
import { headerValue } from '../receipts/verify-receipt.js';
import type { AuditVerdict } from './audit-verdict.js';
import { quorumCourtAbi } from './bindings/QuorumCourt.js';
import {
  ContractClient,
  orNull,
  sentTransaction,
  type BlockTag,
  type Call,
  type ChainContext,
  type SentTransaction,
} from './contract-client.js';
import type { CourtTerms } from './court-terms.js';

export const courtInterface = new Interface(quorumCourtAbi);

/** What a verdict says; batch and seed the court knows itself. */
export type AuditFindings = Omit<AuditVerdict, 'batchHash' | 'seed'>;

export class CourtClient extends ContractClient {
  private constructor(
    context: ChainContext,
    address: Hex,
    readonly terms: CourtTerms,
  ) {
    super(context, address, courtInterface);
  }

  /** Reads the court's terms. @throws AssayError CHAIN_UNAVAILABLE, CHAIN_MISMATCH, CHAIN_REVERTED */
  static async at(context: ChainContext, address: Hex): Promise<CourtClient> {
    const nobody: CourtTerms = { beaconDelay: 0, auditWindow: 0, drawRatePpm: 0, quorum: 0, auditors: [] };
    const terms = (await new CourtClient(context, address, nobody).view('terms', [])) as Record<string, bigint> & {
      auditors: string[];
    };
    return new CourtClient(context, address, {
      beaconDelay: Number(terms['beaconDelay']),
      auditWindow: Number(terms['auditWindow']),
      drawRatePpm: Number(terms['drawRatePpm']),
      quorum: Number(terms['quorum']),
      auditors: terms.auditors.map((auditor) => auditor.toLowerCase() as Hex),
    });
  }

  /** First block in which `fixSeed` is allowed is the one after this. */
  drawBlockOf(header: BatchHeader): number {
    return header.committedBlock + this.terms.beaconDelay;
  }

  /** Last time, by the contract's clock, at which `fixSeed` and `reportAudit` are allowed. */
  auditDeadlineOf(header: BatchHeader): number {
    return header.committedAt + this.terms.auditWindow;
  }

  fixSeedCall(header: BatchHeader): Call {
    return this.callOf('fixSeed', [headerValue(header)]);
  }

  /** @param signatures in ascending order of the signers' addresses */
  reportAuditCall(header: BatchHeader, findings: AuditFindings, signatures: readonly Hex[]): Call {
    const { kills, voided, resultsRoot, checkers, reporter } = findings;
    return this.callOf('reportAudit', [
      headerValue(header),
      kills,
      voided,
      resultsRoot,
      checkers,
      reporter,
      signatures,
    ]);
  }

  /** @returns the seed. @throws AssayError CHAIN_REVERTED (SeedTooEarly, SeedKnown, AuditClosed ...), CHAIN_UNAVAILABLE */
  async fixSeed(header: BatchHeader): Promise<SentTransaction & { readonly seed: Hex }> {
    const mined = await this.send(this.fixSeedCall(header), 'fixSeed');
    return { ...sentTransaction(mined), seed: (await this.seedOf(hashBatch(header, this.domain)))! };
  }

  /** @throws AssayError CHAIN_REVERTED (QuorumMissed, NotAuditor, VerdictUnbound, AuditKnown, AuditClosed ...), CHAIN_UNAVAILABLE */
  async reportAudit(
    header: BatchHeader,
    findings: AuditFindings,
    signatures: readonly Hex[],
  ): Promise<SentTransaction> {
    return sentTransaction(await this.send(this.reportAuditCall(header, findings, signatures), 'reportAudit'));
  }

  /** Null until `fixSeed`. */
  async seedOf(batchHash: Hex, blockTag: BlockTag = 'latest'): Promise<Hex | null> {
    return orNull(await this.view('seedOf', [batchHash], blockTag));
  }

  /** Struct hash of the verdict (see `verdictStructHash`); null until `reportAudit`. */
  async verdictOf(batchHash: Hex, blockTag: BlockTag = 'latest'): Promise<Hex | null> {
    return orNull(await this.view('verdictOf', [batchHash], blockTag));
  }

  /** Bitmap of invalid leaves; zero until `reportAudit`. */
  async killsOf(batchHash: Hex): Promise<bigint> {
    return (await this.view('killsOf', [batchHash])) as bigint;
  }

  /** Bitmap of leaves that the audit could not decide; zero until `reportAudit`. */
  async voidedOf(batchHash: Hex): Promise<bigint> {
    return (await this.view('voidedOf', [batchHash])) as bigint;
  }

  /** One byte a leaf (see `checkerBytes`); all zero until `reportAudit`. */
  async checkersOf(header: BatchHeader): Promise<Hex> {
    return (await this.view('checkersOf', [headerValue(header)])) as Hex;
  }

  /** Who had the leaf to check, and who is paid for the report; null where there is none. */
  async awardOf(
    batchHash: Hex,
    index: number,
  ): Promise<{ readonly checker: Hex | null; readonly reporter: Hex | null }> {
    const [checker, reporter] = (await this.viewAll('awardOf', [batchHash, index])) as unknown as [string, string];
    return { checker: orNull(checker), reporter: orNull(reporter) };
  }
}
