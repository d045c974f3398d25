import { AssayError } from '../../common/errors.js';
import { isWellFormed } from '../commitment/encoding.js';
import { checkCommitTable } from '../commitment/commit-table.js';
import { modelDigest } from '../commitment/model-digest.js';
import { sizeOf } from '../tensor.js';
import type { Bundle, Port } from './types.js';

/** Elements of one item of a port. */
export function portItemSize(port: Port): number {
  return sizeOf(port.batched ? port.shape.slice(1) : port.shape);
}

/** @throws AssayError GRAPH_INVALID where ports and graph do not match one to one in number and size, or a name is no text. */
export function checkPorts(model: Pick<Bundle, 'graph' | 'inputs' | 'outputs'>): void {
  const check = (what: string, ports: readonly Port[], ids: readonly number[]): void => {
    if (ports.length !== ids.length)
      throw new AssayError('GRAPH_INVALID', `${ports.length} ${what} ports for ${ids.length} graph ${what}s`);
    const names = new Set(ports.map(({ name }) => name));
    if (names.size !== ports.length) throw new AssayError('GRAPH_INVALID', `two ${what} ports have the same name`);
    ports.forEach((port, i) => {
      // The digest would be the same for every such name.
      if (!isWellFormed(port.name))
        throw new AssayError(
          'GRAPH_INVALID',
          `${what} port ${i}: its name ${JSON.stringify(port.name)} holds half of a surrogate pair`,
        );
      const info = model.graph.tensors[ids[i]!]!;
      if (!port.shape.every((side) => Number.isInteger(side) && side >= 1) || (port.batched && port.shape[0] !== 1))
        throw new AssayError(
          'GRAPH_INVALID',
          `${what} port '${port.name}': shape [${port.shape.join(', ')}] must have sides >= 1, and 1 on a batch axis`,
        );
      if (portItemSize(port) !== sizeOf(info.shape))
        throw new AssayError(
          'GRAPH_INVALID',
          `${what} port '${port.name}' of shape [${port.shape.join(', ')}] does not match tensor '${info.name}' of item shape [${info.shape.join(', ')}]`,
        );
    });
  };
  check('input', model.inputs, model.graph.inputs);
  check('output', model.outputs, model.graph.outputs);
}

/**
 * A bundle with its digest computed. The graph must be validated (GraphBuilder.finish does so).
 * @throws AssayError GRAPH_INVALID where ports and graph do not match, or the table of committed slots breaks a rule.
 */
export function makeBundle(parts: Omit<Bundle, 'digest'>): Bundle {
  checkPorts(parts);
  if (parts.committedSlots !== undefined) checkCommitTable(parts.graph, parts.committedSlots);
  return { ...parts, digest: modelDigest(parts) };
}
