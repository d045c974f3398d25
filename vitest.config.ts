import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.js';

export default defineConfig({
  test: {
    globalSetup: ['./verifier-contracts/harness/compile-all.ts'],
    include: ['**/*.test.ts'],
    exclude: ['node_modules/**', 'dist/**', '.cache/**', '**/*.slow.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
  },
});
