/** Which files tests start as a process or a thread, found by how they are named, so that a new one needs no list. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { inRoot, root } from '../run.mjs';

const sources = '{packages,apps}/*/{src,test}/**/*.ts';
/** `startThread` puts their names together. */
const storageThreads = 'packages/engine/src/storage/threads/*-thread.ts';
/** A file that is named without being imported: `new URL('./worker.ts', import.meta.url)`. */
const named = /(?<!\b(?:from|import)\s+|\bimport\()['`](\.{1,2}\/[\w./-]+)(?:\.ts|\$\{extension\})['`]/g;

/** All files that are started, and a few that are only read: a bundle that nobody loads does no harm. */
export function findEntries() {
  const entries = new Set(globSync(storageThreads, { cwd: root }).map((file) => inRoot(file)));
  for (const file of globSync(sources, { cwd: root, exclude: ['apps/web/**'] })) {
    for (const [, name] of readFileSync(inRoot(file), 'utf8').matchAll(named)) {
      const entry = resolve(root, dirname(file), `${name}.ts`);
      if (!entry.endsWith('.test.ts') && existsSync(entry)) entries.add(entry);
    }
  }
  return [...entries];
}
