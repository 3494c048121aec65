/** Files and links in the documents exist, and the two documents that are read first stay short. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const documents = globSync(['README.md', 'docs/**/*.md', '{packages,apps}/*/README.md', 'e2e/README.md'], {
  cwd: root,
}).sort();

/** Matches a path with a folder and one of the extensions of the repository's files, without placeholders. */
const filePath = /^[\w.@-]+(?:\/[\w.@-]+)*\/[\w.@-]+\.(?:ts|tsx|mjs|js|c|css|json|md|html)$/;
/** Matches a path from the repository's root. */
const rootPath = /^(?:apps|docs|e2e|packages|scenarios|scripts)\/[\w./@-]+$/;

/** Paths that only exist after a command was run. */
const created = new Set(['apps/web/dist', 'packages/engine/dist']);

const withoutCodeBlocks = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, '');

function pathsOf(document: string): string[] {
  const spans = withoutCodeBlocks(readFileSync(join(root, document), 'utf8')).matchAll(/`([^`\n]+)`/g);
  return [...new Set([...spans].map(([, span]) => span!))].filter(
    (span) => (filePath.test(span) || rootPath.test(span)) && !created.has(span),
  );
}

/** Paths are relative to the root, to the engine's sources, or to the package of a README, its `src` and `test`. */
function exists(document: string, path: string): boolean {
  const own = dirname(document);
  const bases = ['.', 'packages/engine/src', own, join(own, 'src'), join(own, 'test')];
  return bases.some((base) => existsSync(join(root, base, path)));
}

/** These documents are read first, so they must stay short; details belong on other pages. */
test.each([
  ['README.md', 60],
  ['docs/architecture.md', 120],
])('%s has at most %i lines', (document, linesMax) => {
  const lines = readFileSync(join(root, document), 'utf8').trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(linesMax);
});

test.each(documents)('%s names only files that exist', (document) => {
  expect(pathsOf(document).filter((path) => !exists(document, path))).toEqual([]);
});

test.each(documents)('%s links only to files that exist', (document) => {
  const text = withoutCodeBlocks(readFileSync(join(root, document), 'utf8'));
  const targets = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, target]) => target!);
  const local = targets.filter((target) => !/^[a-z]+:/.test(target));
  expect(local.filter((target) => !existsSync(join(root, dirname(document), target)))).toEqual([]);
});
