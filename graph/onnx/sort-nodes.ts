/** Topological order of the nodes of a graph. */
import { AssayError } from '../../common/errors.js';
import type { OnnxNode } from './model.js';

/**
 * The nodes with every producer before its consumers. An order that is right already is kept.
 * @param where names the file, for messages.
 * @throws ONNX_INVALID where the nodes form a cycle.
 */
export function sortNodes(nodes: readonly OnnxNode[], where: string): OnnxNode[] {
  const producer = new Map<string, number>();
  nodes.forEach((node, index) => {
    for (const output of node.outputs) if (output !== '') producer.set(output, index);
  });
  const sorted: OnnxNode[] = [];
  const state = new Uint8Array(nodes.length); // 0 not seen, 1 on the path, 2 done
  for (let root = 0; root < nodes.length; root++) {
    if (state[root] !== 0) continue;
    // Depth first with a stack of our own: a chain of 100,000 nodes must not overflow the call stack.
    const path: { node: number; next: number }[] = [{ node: root, next: 0 }];
    state[root] = 1;
    while (path.length > 0) {
      const top = path[path.length - 1]!;
      const inputs = nodes[top.node]!.inputs;
      if (top.next === inputs.length) {
        state[top.node] = 2;
        sorted.push(nodes[top.node]!);
        path.pop();
        continue;
      }
      const before = producer.get(inputs[top.next++]!);
      if (before === undefined || state[before] === 2) continue;
      if (state[before] === 1) {
        const start = path.findIndex((entry) => entry.node === before);
        const cycle = path.slice(start).map((entry) => nodes[entry.node]!.name);
        throw new AssayError('ONNX_INVALID', `${where}: the nodes ${cycle.reverse().join(' -> ')} form a cycle.`, {
          meta: { nodes: cycle },
        });
      }
      state[before] = 1;
      path.push({ node: before, next: 0 });
    }
  }
  return sorted;
}
