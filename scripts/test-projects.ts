/**
 * Determines the Vitest project of a test file from its imports and its folder, so that a new file is in exactly one project
 * without being listed: `fast` if nothing that it imports can start a thread or a process, listen, or open SQLite.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob, resolve } from 'node:path';

export const testFiles = ['{packages,apps}/*/test/**/*.test.{ts,tsx}', 'scripts/test/**/*.test.ts'];

export type ProjectName = 'fast' | 'engine' | 'system';

/** Modules that a fast test must not reach. */
const heavyModules = new Set([
  'better-sqlite3',
  'fastify',
  'node:child_process',
  'node:cluster',
  'node:http',
  'node:net',
  'node:worker_threads',
]);

/** The engine's tests with more than one process; the others open one or a few instances in their own process. */
const severalProcesses = 'packages/engine/test/{cluster,faults,remote}/**';

/** Matches an import or a re-export with its names, or a dynamic import of a fixed module. */
const importing =
  /(?:^|\n)\s*(import|export)\s+(?!type\b)(?:([\w*${}\s,]*?)\sfrom\s*)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;

interface Import {
  specifier: string;
  /** Names of the exports that are imported; `undefined` for all. */
  names: string[] | undefined;
  /** Whether this is a re-export, which does not matter to importers that import other names of the file. */
  isReexport: boolean;
}

export function importsOf(source: string): Import[] {
  return [...source.matchAll(importing)].map(([, keyword, clause, fixed, dynamic]) => ({
    specifier: (fixed ?? dynamic)!,
    names: clause === undefined ? undefined : namesOf(clause),
    isReexport: keyword === 'export',
  }));
}

/** The names between the braces that are not types; `undefined` if the clause takes the whole module. */
function namesOf(clause: string): string[] | undefined {
  const [, names] = /^\s*\{([^}]*)\}\s*$/.exec(clause) ?? [];
  return names
    ?.split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '' && !part.startsWith('type '))
    .map((part) => part.split(/\s+as\s+/)[0]!);
}

/** The entry files of this repository's packages, by name and by sub-path: `@shardlab/lab`, `@shardlab/lab/claims`. */
export function readEntries(root: string): Map<string, string> {
  const entries = new Map<string, string>();
  for (const file of globSync('{packages,apps}/*/package.json', { cwd: root })) {
    const { name, exports = {} } = JSON.parse(readFileSync(join(root, file), 'utf8'));
    const paths: Record<string, string> = typeof exports === 'string' ? { '.': exports } : exports;
    for (const [path, target] of Object.entries(paths)) {
      if (typeof target === 'string') entries.set(join(name, path), join(root, dirname(file), target));
    }
  }
  return entries;
}

class Imports {
  readonly #entries: Map<string, string>;
  readonly #sources = new Map<string, Import[]>();
  readonly #heavy = new Map<string, boolean>();

  constructor(root: string) {
    this.#entries = readEntries(root);
  }

  /** Whether the file needs a heavy module, directly or indirectly, for these exported names. */
  areHeavy(file: string, names?: readonly string[]): boolean {
    const imports = this.#read(file);
    const reexportsOnly = imports.length > 0 && imports.every(({ isReexport }) => isReexport);
    const key = reexportsOnly && names !== undefined ? `${file} ${names}` : file;
    const known = this.#heavy.get(key);
    if (known !== undefined) return known;
    this.#heavy.set(key, false); // for modules that import each other
    const heavy = imports.some((each) => {
      const passed =
        reexportsOnly && names !== undefined
          ? each.names?.filter((name) => names.includes(name))
          : each.names;
      if (passed?.length === 0) return false;
      if (heavyModules.has(each.specifier)) return true;
      const next = each.specifier.startsWith('.')
        ? resolve(dirname(file), each.specifier)
        : this.#entries.get(each.specifier);
      return next !== undefined && this.areHeavy(next, passed);
    });
    this.#heavy.set(key, heavy);
    return heavy;
  }

  #read(file: string): Import[] {
    const known = this.#sources.get(file);
    if (known !== undefined) return known;
    const imports = existsSync(file) ? importsOf(readFileSync(file, 'utf8')) : [];
    this.#sources.set(file, imports);
    return imports;
  }
}

/** The test files of each project, from the root folder. */
export function readProjects(root: string): Record<ProjectName, string[]> {
  const projects: Record<ProjectName, string[]> = { fast: [], engine: [], system: [] };
  const imports = new Imports(root);
  for (const file of testFiles.flatMap((pattern) => globSync(pattern, { cwd: root })).sort()) {
    if (!imports.areHeavy(join(root, file))) projects.fast.push(file);
    else if (file.startsWith('packages/engine/') && !matchesGlob(file, severalProcesses))
      projects.engine.push(file);
    else projects.system.push(file);
  }
  return projects;
}
