import { defineConfig } from 'vitest/config';

/** The long things: wide fuzz, many kill points, soak. */
export default defineConfig({
  test: {
    globalSetup: ['./verifier-contracts/harness/compile-all.ts'],
    include: ['**/*.slow.test.ts'],
    exclude: ['node_modules/**', 'dist/**', '.cache/**'],
    testTimeout: 3_600_000,
    hookTimeout: 300_000,
    pool: 'forks',
    maxWorkers: 2,
  },
});
