/**
 * Finds the files that the engine starts as a thread or a process. In the repository these are sources; in the published package they are
 * in the folder `programs` beside its `index.js`. A bundle that an application makes of itself contains the engine but not these files,
 * and uses those of the installed package. Both must have the same version, because they share memory.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import manifest from '../package.json' with { type: 'json' };
import { QueueError } from './api/errors.ts';

/** The source of each, from this folder. The package has a file of this name for each of them. */
export const programSources = {
  'writer-thread': './storage/threads/writer-thread.ts',
  'reader-thread': './storage/threads/reader-thread.ts',
  'scrub-thread': './storage/threads/scrub-thread.ts',
  'sync-thread': './storage/threads/sync-thread.ts',
  'heartbeat-thread': './storage/threads/heartbeat-thread.ts',
  'watchdog-thread': './storage/threads/watchdog-thread.ts',
  'writer-process': './storage/threads/writer-process.ts',
  'instance-process': './cluster/supervisor/instance-process.ts',
  'unknown-formats-process': './cluster/unknown-formats-process.ts',
} as const;

export type ProgramName = keyof typeof programSources;

const programPath = (name: ProgramName) => `./programs/${name}.js`;

/** The address of this module, which a bundle in the format of CommonJS knows only as a path. */
const here = (import.meta.url as string | undefined) ?? pathToFileURL(__filename).href;

let folder: URL | undefined;

/** The file of a program. Throws `PROGRAMS_NOT_FOUND`. */
export function programFile(name: ProgramName): URL {
  if (here.endsWith('.ts')) return new URL(programSources[name], here);
  folder ??= findFolder();
  return new URL(programPath(name), folder);
}

/** Throws `PROGRAMS_NOT_FOUND` if threads and processes could not be started later. */
export function assertProgramsFound(): void {
  programFile('writer-thread');
}

function findFolder(): URL {
  const beside = new URL('./', here);
  if (existsSync(new URL(programPath('writer-thread'), beside))) return beside;
  const { name, version } = manifest;
  const installed = findInstalled(name);
  if (installed?.version === version) return installed.folder;
  const found = installed === undefined ? 'is not installed' : `is installed as ${installed.version}`;
  throw new QueueError('PROGRAMS_NOT_FOUND', {
    message: `This bundle of ${name} ${version} starts threads from files of the package, which ${found} where ${here} can import it: install ${name}@${version} there, or leave it out of the bundle as an external package`,
    details: { bundle: here, version, installed: installed?.version ?? null },
  });
}

/** The package as the importing file finds it; undefined if it does not. */
function findInstalled(name: string): { folder: URL; version: string } | undefined {
  try {
    const path = createRequire(here).resolve(`${name}/package.json`);
    const { version } = JSON.parse(readFileSync(path, 'utf8')) as { version: string };
    return { folder: new URL('./', pathToFileURL(path)), version };
  } catch {
    return undefined;
  }
}
