import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{packages,apps}/*/test/**/*.test.{ts,tsx}', 'scripts/test/**/*.test.ts'],
    environment: 'node',
    // The engine loads a native module and starts processes: a process per file keeps a crash to its own file.
    pool: 'forks',
    maxWorkers: 2,
    // Crash tests start and kill dozens of processes and set longer bounds of their own.
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
