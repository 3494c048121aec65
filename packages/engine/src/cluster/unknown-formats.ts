/** Finds files whose header names a format that SQLite does not know, as a flipped bit does. SQLite then only reads them. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { programFile } from '../program-files.ts';

/**
 * Returns those of the SQLite files. They are read in a process of its own: a process that closes a descriptor of a file loses all
 * its locks on it (POSIX), also those of SQLite's open connections. Without its lock on `group-writer.db`, for one, another process
 * would become a second writer of the grouped queues.
 */
export function findUnknownFormats(paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  const program = fileURLToPath(programFile('unknown-formats-process'));
  const printed = execFileSync(process.execPath, [program, ...paths], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(printed) as string[];
}
