/**
 * Plays games of the model (game-model.ts) against the real contracts and compares after each call: refused or not, and by
 * which error; every balance; the claim's result, its end, and when the first answer is due.
 */
import { concat, id, keccak256 } from 'ethers';
import { signReceipt } from '../../../receipts/signature.js';
import type { Hex } from '../../../receipts/types.js';
import { settlementErrors, type Call } from '../../contract-client.js';
import type { GameNode } from '../../dispute-types.js';
import { faultCommitment, nodeId } from '../../game-client.js';
import {
  addressOf,
  allowed,
  found,
  gamePolicy,
  minedReceipt,
  notAllowed,
  notFound,
  wallets,
  WINDOW,
  type GameFixture,
  type Job,
  type Ledger,
  type Party,
} from './game-fixture.js';
import {
  begin,
  clockOf,
  differences,
  ownersOf,
  play,
  resultOf,
  untilOf,
  waitingOf,
  type GameCall,
  type GameState,
  type ModelNode,
  type ModelTerms,
} from './game-model.js';
import type { TestTrace } from './test-trace.js';

/** A call at a time after the commit. */
export interface Timed {
  readonly time: number;
  readonly call: GameCall;
}

/** What is played about: a trace, and the node of the contract for each one of the model. */
export interface Stage {
  readonly trace: TestTrace;
  readonly nodes: readonly GameNode[];
  readonly terms: ModelTerms;
}

const BPS = 10_000;
/** Above the base fee, which falls from 1 gwei on. */
const GAS_PRICE = 2_000_000_000n;
const LOCK = Number(gamePolicy.minLock);
const PRICE = 1_500_000;
const AMOUNT = 1_000_000;

/** @param bytes of an answer */
export const costOf = (bytes: number): number =>
  (gamePolicy.gasAnswer + gamePolicy.gasAnswerByte * bytes) * Number(gamePolicy.unitPrice);

export const REAL: Omit<ModelTerms, 'nodes'> = {
  window: WINDOW,
  deliveryWindow: gamePolicy.deliveryWindow,
  answerTime: gamePolicy.answerTime,
  responseTime: gamePolicy.responseTime,
  precommitDelay: gamePolicy.precommitDelay,
  maxFreeze: 1_000,
  coolDown: 5_000,
  freeDemands: 7,
  demandsAStep: 8,
  outputCost: costOf(256),
  price: PRICE,
  surcharge: 80_000,
  amount: AMOUNT,
  fee: (AMOUNT * gamePolicy.protocolFeeBps) / BPS,
  lock: LOCK,
  noShowFee: Number(gamePolicy.noShowFee),
  bounty: (LOCK * gamePolicy.bountyOpenBps) / BPS,
  gas: gamePolicy.gasKill * Number(gamePolicy.unitPrice),
};

/** @param most bytes of the largest answer, @param bytes of the one that it gets */
export function realNode(
  name: string,
  level: number,
  parent: number | null,
  most: number,
  bytes = most,
  statement = false,
): ModelNode {
  const free = level === 0;
  return { name, level, parent, free, statement, mostCost: costOf(most), cost: costOf(bytes) };
}

const SALT = id('salt') as Hex;
const faultOf = (fault: number): Hex => id(`fault ${fault}`) as Hex;
/** The tree of the only output, which answers to demands of others show. */
const LONE_OUTPUT = keccak256(concat(['0x30', '0x01', '0x00000000', id('output')])) as Hex;
const SLICE = { firstChunk: 0, chunkCount: 1 };

export class GamePlayer {
  private constructor(
    readonly fixture: GameFixture,
    readonly stage: Stage,
    readonly job: Job,
    private readonly base: Ledger,
  ) {}

  /**
   * Calls of one time stand in one block, in their order.
   * @param posted by whom the batch is committed: at once, or so many units before the last time at which it binds the order.
   * @throws Error where model and contracts differ, with what was played until then
   */
  static async play(
    fixture: GameFixture,
    stage: Stage,
    calls: readonly Timed[],
    posted: 'at once' | { readonly before: number } = 'at once',
  ): Promise<GameState> {
    return fixture.apart(async () => {
      const job = await (posted === 'at once'
        ? fixture.job(stage.trace)
        : fixture.lateJob(stage.trace, await fixture.shortOrder(), -posted.before));
      const player = new GamePlayer(fixture, stage, job, await fixture.ledger());
      let state = begin(stage.terms);
      for (let i = 0; i < calls.length;) {
        const { time } = calls[i]!;
        const end = calls.findIndex((one, k) => k > i && one.time !== time);
        const block = calls.slice(i, end < 0 ? calls.length : end);
        i += block.length;
        try {
          state = await player.#block(state, time, block);
        } catch (error) {
          const way = calls.slice(0, i).map((one) => `${one.time} ${JSON.stringify(one.call)}`);
          throw new Error(`${(error as Error).message}\n  ${way.join('\n  ')}`, { cause: error });
        }
      }
      return state;
    });
  }

  async #block(before: GameState, time: number, block: readonly Timed[]): Promise<GameState> {
    const { terms } = this.stage;
    const errors = await this.#mine(block, this.job.header.committedAt + time);
    let state = { ...before, time };
    for (const [i, { call }] of block.entries()) {
      const played = play(terms, state, call);
      const error = errors[i]!;
      if (played.refused === null ? error !== null : error === null || !played.refused.includes(error))
        throw new Error(
          `call ${i}: the model says ${played.refused?.join(' or ') ?? 'accepted'}, the contract ${error ?? 'accepted'}`,
        );
      if (played.refused !== null) continue;
      state = played.state;
      if (call.do === 'demand') this.job.demanded.push(this.stage.nodes[call.node]!);
    }
    await this.#compare(state);
    return state;
  }

  /** @return the error of each; null where it was not refused */
  async #mine(block: readonly Timed[], time: number): Promise<(string | null)[]> {
    const { provider } = this.fixture;
    const alone = block.length === 1;
    if (!alone) await provider.send('evm_setAutomine', [false]);
    await provider.send('evm_setNextBlockTimestamp', [time]);
    const hashes: Hex[] = [];
    for (const [i, { call }] of block.entries()) {
      const { to, data } = await this.#callOf(call);
      // Who pays more comes first.
      const gasPrice = `0x${(GAS_PRICE * BigInt(block.length - i)).toString(16)}`;
      const transaction = { from: addressOf(call.by as Party), to, data, gas: '0xf00000', gasPrice };
      hashes.push((await provider.send('eth_sendTransaction', [transaction])) as Hex);
    }
    if (!alone) {
      await provider.send('evm_mine', []);
      await provider.send('evm_setAutomine', [true]);
    }
    return Promise.all(hashes.map((hash) => this.#errorOf(hash)));
  }

  async #errorOf(hash: Hex): Promise<string | null> {
    const { provider } = this.fixture;
    if ((await minedReceipt(provider, hash)).status === '0x1') return null;
    const tracer = { tracer: 'callTracer' };
    const trace = (await provider.send('debug_traceTransaction', [hash, tracer])) as { output?: string };
    const parsed = settlementErrors.parseError(trace.output ?? '0x');
    return parsed?.name ?? trace.output ?? '0x';
  }

  async #compare(state: GameState): Promise<void> {
    const { terms } = this.stage;
    const [after, view, leaf] = await Promise.all([
      this.fixture.ledger(),
      this.fixture.viewOf(this.job),
      this.fixture.stateOf(this.job),
    ]);
    const start = begin(terms).money;
    const [moved, expected]: Record<string, number>[] = [{}, {}];
    for (const key of Object.keys(after)) moved![key] = Number(after[key]! - (this.base[key] ?? 0n));
    for (const key of new Set([...Object.keys(state.money), ...Object.keys(start)]))
      expected![key] = (state.money[key] ?? 0) - (start[key] ?? 0);
    const wrong = differences(moved!, expected!);
    if (wrong.length > 0) throw new Error(`contract and model: ${wrong.join('; ')}`);
    const unowned = differences(state.money, ownersOf(terms, state));
    if (unowned.length > 0) throw new Error(`model and facts: ${unowned.join('; ')}`);
    const result = { open: 'challengeable', final: 'final', dead: 'dead' }[resultOf(terms, state)];
    if (leaf !== result) throw new Error(`the model says ${result}, the contract ${leaf}`);
    const { committedAt } = this.job.header;
    if (view.until !== committedAt + untilOf(terms, state)) throw new Error(`open until ${view.until - committedAt}`);
    const first = waitingOf(state)[0];
    const due = first === undefined ? null : committedAt + first.at + terms.answerTime;
    if (view.nextAnswerBy !== due) throw new Error(`due at ${view.nextAnswerBy}, not at ${due}`);
    if (clockOf(state) > untilOf(terms, state) && leaf === 'challengeable') throw new Error('open after its end');
  }

  async #callOf(call: GameCall): Promise<Call> {
    const { fixture, job, stage } = this;
    const { game, escrow } = fixture.client;
    const announcement = (beneficiary: string): { beneficiary: Hex; salt: Hex } => ({
      beneficiary: addressOf(beneficiary as Party),
      salt: SALT,
    });
    switch (call.do) {
      case 'demand': {
        const node = stage.nodes[call.node]!;
        const { statement } = stage.terms.nodes[call.node]!;
        const evidence = statement ? (call.allowed === false ? notAllowed : allowed) : '0x';
        return game!.demandCall(job.claim, node, job.trace.path(node), evidence as Hex);
      }
      case 'answer': {
        const node = stage.nodes[call.node]!;
        const { statement } = stage.terms.nodes[call.node]!;
        const content = fixture.contentOf(job, node);
        // Of a statement, and of all else: one byte too many, or another first one.
        const said = call.right === false ? (`${content}00` as Hex) : content;
        if (!statement) return game!.answerCall(job.claim, node, said);
        const signer = call.signed === false ? wallets.hostile : wallets.signer;
        return game!.stateCall(job.claim, node, said, await fixture.opening(job, node, said, signer));
      }
      case 'precommit': {
        const { beneficiary, salt } = announcement(call.beneficiary);
        return game!.precommitCall(faultCommitment(job.id, faultOf(call.fault), beneficiary, salt));
      }
      case 'prove':
      case 'claimBounty': {
        const relies = call.relies === undefined ? [] : [this.#relianceOn(stage.nodes[call.relies]!)];
        const reliance = await Promise.all(relies);
        const right = found(faultOf(call.fault), reliance);
        const proof = call.found === false ? { ...notFound, faultId: right.faultId } : right;
        const named = announcement(call.beneficiary);
        return call.do === 'prove' ? game!.proveFaultCall(job, proof, named) : game!.claimBountyCall(job, proof, named);
      }
      case 'timeout':
        return game!.timeoutCall(job);
      case 'settle':
        return escrow.settleCall([job]);
      case 'close':
        return game!.closeDemandsCall(
          job.claim,
          call.nodes.map((node) => nodeId(stage.nodes[node]!)),
        );
      case 'equivocate':
        return this.#equivocation(call.by as Party);
      case 'freeze':
        return escrow.freezeCall();
      case 'unfreeze':
        return escrow.unfreezeCall();
      case 'demandOutput':
        return escrow.demandOutputCall(job, { tensor: 1 + call.part, ...SLICE });
      case 'answerOutput': {
        // There is one output, number 0; an answer about another one shows that.
        const opening = {
          outputCount: 1,
          portPath: [LONE_OUTPUT],
          tensorHeader: '0x' as Hex,
          elements: '0x' as Hex,
          chunkPath: [],
        };
        return escrow.answerOutputCall(job, { tensor: 1 + call.part, ...SLICE }, opening);
      }
    }
  }

  async #relianceOn(node: GameNode): Promise<{ nodeId: Hex; contentHash: Hex }> {
    const content = keccak256(this.fixture.contentOf(this.job, node)) as Hex;
    return { nodeId: nodeId(node), contentHash: content };
  }

  async #equivocation(by: Party): Promise<Call> {
    const { fixture, job } = this;
    const { domain, escrow } = fixture.client;
    const other = { ...job.receipt, amount: 1n };
    return escrow.slashEquivocationCall({
      order: job.order,
      receipt: job.receipt,
      signature: await signReceipt(job.receipt, domain, wallets.signer),
      other,
      otherSignature: await signReceipt(other, domain, wallets.signer),
      leaf: job,
      beneficiary: addressOf(by),
      salt: SALT,
    });
  }
}
