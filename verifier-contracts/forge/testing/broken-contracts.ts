/**
 * Contracts with one mistake each: what the Solidity tests must not let pass. A mistake is a replacement in a source of
 * src/; the text that it replaces stands there exactly once, so that a change of the source shows here.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AssayError } from '../../../common/errors.js';
import { compileContracts, type Artifacts } from '../../build.js';

const contractsRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const scratch = join(dirname(contractsRoot), '.cache', 'forge', 'broken');

export interface Mistake {
  /** What is wrong, in words. */
  readonly name: string;
  /** Contract whose source is changed. */
  readonly contract: 'Escrow' | 'ReceiptRollup';
  readonly find: string;
  readonly replace: string;
}

export const MISTAKES: readonly Mistake[] = [
  {
    name: 'an ended order keeps its state and is paid again',
    contract: 'Escrow',
    find: 'stored.state = state;',
    replace: '',
  },
  {
    name: 'a lock is not given back when the order is paid',
    contract: 'Escrow',
    find: 'amount - fee + stored.lock',
    replace: 'amount - fee',
  },
  {
    name: 'an answered demand is paid twice: to the answerer and back to the requester',
    contract: 'Escrow',
    find: 'back -= cost;',
    replace: '',
  },
  {
    name: 'the audit fee is not earmarked',
    contract: 'Escrow',
    find: '_reserveHeld += fee;',
    replace: '',
  },
  {
    name: 'a withdrawal leaves the balance as it was',
    contract: 'Escrow',
    find: '_take(msg.sender, amount);\n        emit Withdrawn',
    replace: 'emit Withdrawn',
  },
  {
    name: 'a claimed bounty stays open',
    contract: 'Escrow',
    find: 'delete _bounties[orderHash];',
    replace: '',
  },
  {
    name: 'repeating an announcement renews it',
    contract: 'Escrow',
    find: 'if (precommittedAt[commitment] != 0) return;',
    replace: '',
  },
  {
    name: 'an answer that came late is forgotten',
    contract: 'Escrow',
    find: 'undelivered = true;',
    replace: '',
  },
  {
    name: 'the clock forgets the freezes before the last',
    contract: 'Escrow',
    find: 'earlier: last.earlier + last.end - last.start',
    replace: 'earlier: 0',
  },
  {
    name: 'a freeze may follow another at once',
    contract: 'Escrow',
    find: 'last.start + maxFreeze + coolDown',
    replace: 'last.start + maxFreeze',
  },
  {
    name: 'a second receipt ends the order and leaves its leaf standing',
    contract: 'Escrow',
    find: 'if (!alive) IReceiptRollup(rollup).kill',
    replace: 'if (alive) IReceiptRollup(rollup).kill',
  },
  {
    name: 'the lock of a slashed order is burnt and paid out',
    contract: 'Escrow',
    find: 'burnt -= bounty;',
    replace: '',
  },
  {
    name: 'anybody may cancel for the executor',
    contract: 'Escrow',
    find: '|| !_signed(order.executor, digest, executorSignature)',
    replace: '|| executorSignature.length == 0',
  },
  {
    name: 'a receipt binds after its time',
    contract: 'Escrow',
    find: 'clock() > stored.deliverBy ? BindFault.Late : BindFault.None',
    replace: 'BindFault.None',
  },
  {
    name: 'the requester pays more than the order says',
    contract: 'Escrow',
    find: 'if (binding.amount > stored.price) return BindFault.Amount;',
    replace: '',
  },
  {
    name: 'a suspended node takes orders',
    contract: 'Escrow',
    find: 'if (!node.active) return (OpenFault.Node, 0);',
    replace: '',
  },
  {
    name: 'who audited a leaf is paid for it only where the executor is',
    contract: 'Escrow',
    find: '_refund(settlement.order, orderHash, checker, undelivered',
    replace: '_refund(settlement.order, orderHash, address(0), undelivered',
  },
  {
    name: 'a new demand holds up an order that can be settled',
    contract: 'Escrow',
    find: 'if (undelivered || clock() > deadline)',
    replace: 'if ((undelivered && deadline == 0) || clock() > deadline)',
  },
  {
    name: 'one announcement serves for any two receipts',
    contract: 'Escrow',
    find: 'first < second ? keccak256(abi.encode(first, second)) : keccak256(abi.encode(second, first))',
    replace: 'bytes32(0)',
  },
  {
    name: 'a receipt that no file can hold stands in a batch',
    contract: 'ReceiptRollup',
    find: 'if (!_isSayable(receipts[i], signatures[i])) revert ReceiptMalformed(i);',
    replace: '',
  },
  {
    name: 'anybody signs for an executor',
    contract: 'ReceiptRollup',
    find: 'if (signer == address(0) || signer != receipt.executor)',
    replace: 'if (signer == address(0))',
  },
  {
    name: 'a killed leaf lives on',
    contract: 'ReceiptRollup',
    find: 'killsOf[batchHash] |= 1 << index;',
    replace: '',
  },
  {
    name: 'a proof serves any output',
    contract: 'ReceiptRollup',
    find: '&& claim.outputRoot == receipt.outputRoot',
    replace: '',
  },
];

/**
 * Artifacts of the changed contract; those of the others are not among them.
 * @throws AssayError CONTRACT_BUILD_FAILED where the text to replace is not there exactly once
 */
export async function compileBroken(mistake: Mistake): Promise<Artifacts> {
  const { contract, find, replace } = mistake;
  const source = readFileSync(join(contractsRoot, 'src', `${contract}.sol`), 'utf8');
  const parts = source.split(find);
  if (parts.length !== 2) {
    throw new AssayError(
      'CONTRACT_BUILD_FAILED',
      `src/${contract}.sol: expected once, found ${parts.length - 1} times: '${find}'. Change broken-contracts.ts with it`,
    );
  }
  const folder = join(scratch, mistake.name.replace(/\W+/g, '-'));
  const sources = relative(folder, join(contractsRoot, 'src'));
  mkdirSync(folder, { recursive: true });
  const broken = parts.join(replace).replaceAll('from "./', `from "${sources}/`);
  writeFileSync(join(folder, `${contract}.sol`), broken);
  const { [contract]: artifact } = await compileContracts({ folders: [relative(contractsRoot, folder)] });
  return { [contract]: artifact! };
}
