/**
 * The order of the test files: the longest first (Graham's LPT rule), so that two workers end together. vitest's own
 * order knows the last durations of this machine, and in a fresh checkout only the sizes of the files.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The longest files by their time when run alone; all others follow in vitest's order. */
const LONGEST = [
  'test/kill/kill-points.test.ts',
  'pipeline/pipeline.test.ts',
  'pipeline/settlement.test.ts',
  'pipeline/zk-lane.test.ts',
  'pipeline/audit.test.ts',
  'test/demo.test.ts',
  'pipeline/ownership.test.ts',
  'circuits/templates/templates.test.ts',
  'test/direct/direct-verifier.test.ts',
  'verifier-contracts/receipt-rollup.test.ts',
  'pipeline/optimistic-lane.test.ts',
  'verifier-contracts/opening/direct-traps.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((file) => moduleId.endsWith(`/${file}`));
      return at === -1 ? LONGEST.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
