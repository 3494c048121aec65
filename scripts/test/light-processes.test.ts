/**
 * Modules that the processes of a trial must not load: a trial with eight instances starts eight of them on the cores that it
 * measures.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../run.mjs';
import { importsOf, readEntries } from '../test-projects.ts';

const entries = readEntries(root);

/** All modules that a file imports, directly or indirectly: sources by path, packages of the registry by name. */
function reachedFrom(file: string, reached = new Set<string>()): Set<string> {
  if (reached.has(file) || !existsSync(file)) return reached.add(file);
  reached.add(file);
  for (const { specifier, names } of importsOf(readFileSync(file, 'utf8'))) {
    if (names?.length === 0) continue;
    const target = specifier.startsWith('.') ? resolve(dirname(file), specifier) : entries.get(specifier);
    reachedFrom(target ?? specifier, reached);
  }
  return reached;
}

it.each([
  'packages/lab/src/programs/queue/trial/instance-worker.ts',
  'packages/lab/src/programs/load/client.ts',
])('%s loads no schemas and no model', (file) => {
  const reached = reachedFrom(join(root, file));
  expect(reached, 'what it is for').toContain('better-sqlite3');
  expect(reached).not.toContain('typebox');
  expect(reached).not.toContain(entries.get('@shardlab/model'));
});

it('the search finds the schemas in a module that imports them', () => {
  expect(reachedFrom(join(root, 'packages/lab/src/index.ts'))).toContain('typebox');
});
