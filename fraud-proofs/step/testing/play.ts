/** A claim and its watcher without a chain: the watcher asks, the executor answers, until a fault is shown. */
import type { Hex, Receipt } from '../../../receipts/types.js';
import type { GameNode, NodePath } from '../../../verifier-contracts/dispute-types.js';
import { nodeContent } from '../../nodes/answer-node.js';
import type { FullTrace } from '../../nodes/full-trace.js';
import { nodeIdOf } from '../../nodes/ids.js';
import { KnownClaim } from '../../nodes/known-claim.js';
import { learnAnswer } from '../../nodes/learn-answer.js';
import { findFault, type FaultFinding } from '../find-fault.js';

export interface Played {
  readonly finding: FaultFinding;
  readonly asked: readonly GameNode[];
  readonly paths: readonly NodePath[];
  readonly levels: readonly number[];
  readonly contents: readonly Hex[];
}

/**
 * @param own the watcher's right execution. @param executor what the executor answers from.
 * @param answer where he says something else than what he holds.
 * @throws where a node is asked twice, comes before its parent, or its answer is not taken in
 */
export function play(
  own: FullTrace,
  receipt: Receipt,
  executor: KnownClaim,
  maxContraction?: number,
  answer: (node: GameNode, honest: Hex | null) => Hex | null = (_, honest) => honest,
): Played {
  const claim = new KnownClaim(receipt);
  const asked: GameNode[] = [];
  const paths: NodePath[] = [];
  const levels: number[] = [];
  const contents: Hex[] = [];
  const ids = new Set<Hex>();
  for (;;) {
    const finding = findFault(own, claim, maxContraction);
    if (finding.kind !== 'demand') return { finding, asked, paths, levels, contents };
    const { node, path, place } = finding;
    const id = nodeIdOf(node);
    if (ids.has(id)) throw new Error(`${JSON.stringify(node)} is asked twice`);
    if (place.parent !== null && !ids.has(nodeIdOf(place.parent)))
      throw new Error(`${JSON.stringify(node)} is asked before ${JSON.stringify(place.parent)}`);
    ids.add(id);
    asked.push(node);
    paths.push(path);
    levels.push(place.level);
    const content = answer(node, nodeContent(own.model, executor, node, maxContraction));
    if (content === null) throw new Error(`the executor cannot answer ${JSON.stringify(node)}`);
    contents.push(content);
    const learned = learnAnswer(own.model, claim, node, content);
    if (!learned.learned) throw new Error(`${JSON.stringify(node)}: ${learned.reason}`);
  }
}
