import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    globalSetup: ['./verifier-contracts/harness/compile-all.ts'],
    include: ['**/*.test.ts'],
    exclude: ['node_modules/**', 'dist/**', '**/*.slow.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
  },
});
