import { expect, it } from 'vitest';
import { predictExactBytes, type Engine } from '../../executor/index.js';
import { referenceEngine } from '../../executor/engines/reference.js';
import { smallClassifier } from '../../executor/testing/digits.js';
import type { Hex } from '../../receipts/types.js';
import { tinyBundle } from '../../test/kill/fixture.js';
import { sizeOf, type Bundle } from '../../graph/index.js';
import { checkerFromEngine } from './nodes.js';

it('a checker in this thread keeps the sessions that fit its budget, and closes the rest', async () => {
  const open: string[] = [];
  const counting: Engine = {
    ...referenceEngine(),
    loadExact: async (wanted) => {
      const session = await referenceEngine().loadExact(wanted);
      open.push(wanted.digest);
      return {
        sizeBytes: session.sizeBytes,
        run: (values, items) => session.run(values, items),
        close: async () => void open.splice(open.indexOf(wanted.digest), 1),
      };
    },
  };
  const node = { address: `0x${'cc'.repeat(20)}` as Hex, operator: 'operator' };
  const job = { orderHash: `0x${'ee'.repeat(32)}` as Hex };
  const [tiny, other] = [tinyBundle(), smallClassifier(1, 6)];
  const zeros = ({ graph }: Bundle) => graph.inputs.map((id) => new Int32Array(sizeOf(graph.tensors[id]!.shape)));
  const [tinyBytes, otherBytes] = [tiny, other].map(({ graph }) => predictExactBytes(graph, 1)) as [number, number];

  const roomy = checkerFromEngine(counting, node, tinyBytes + otherBytes);
  for (const bundle of [tiny, other, tiny]) await roomy.check(bundle, zeros(bundle), 1, job);
  expect(open.splice(0)).toEqual([tiny.digest, other.digest]);

  const narrow = checkerFromEngine(counting, node, tinyBytes + otherBytes - 1);
  for (const bundle of [tiny, other]) {
    await narrow.check(bundle, zeros(bundle), 1, job);
    expect(open).toEqual([bundle.digest]);
  }
  await expect(checkerFromEngine(counting, node, tinyBytes - 1).check(tiny, zeros(tiny), 1, job)).rejects.toMatchObject(
    {
      code: 'MODEL_TOO_LARGE',
    },
  );
});
