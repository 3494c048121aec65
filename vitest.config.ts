import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { importBundles } from './scripts/bundles/vitest-imports.ts';
import { LongestFirst } from './scripts/longest-first.ts';
import { makeTestFolder } from './scripts/test-folder.ts';
import { readProjects } from './scripts/test-projects.ts';

const root = fileURLToPath(new URL('.', import.meta.url));
const { fast, engine, system } = readProjects(root);

// Every instance that a test opens starts threads, many a test a process: Node keeps what it has compiled of them here.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.shardlab/compiled', import.meta.url));
// Worker processes inherit it, and `tmpdir()` reads it.
process.env.TMPDIR = makeTestFolder();

export default defineConfig({
  test: {
    environment: 'node',
    // For what hangs, on a machine that is busy with other things too. Tests that start dozens of processes set longer ones.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A busy machine exceeds the second that a state is waited for otherwise.
    expect: { poll: { timeout: 30_000 } },
    // One more than the two cores that this is meant for: the tests wait for disks and for processes that end.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      // Files of a worker share what they import: loading it anew for each took a tenth of the time of all tests. So a hook at
      // the top of a module that several of them import would be one of the first only (docs/testing.md).
      {
        extends: true,
        plugins: [importBundles()],
        test: { name: 'fast', include: fast, pool: 'threads', isolate: false },
      },
      // The engine loads a native module and starts threads: a crash must not end the tests of other workers.
      {
        extends: true,
        plugins: [importBundles()],
        test: { name: 'engine', include: engine, pool: 'forks', isolate: false },
      },
      {
        extends: true,
        plugins: [importBundles()],
        test: { name: 'system', include: system, pool: 'forks', isolate: false },
      },
    ],
  },
});
