/**
 * Removes absolute paths of this machine from what is answered. Errors of the engine name files by their full path, which an
 * operator needs in the log, and a client is not to learn.
 */
import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';

/** Strings anywhere in the value. Other values are returned as they are. */
export type HidePaths = <T>(value: T) => T;

/** Shortens paths in the folder to their last part, and those of sockets whose path was too long for the folder. */
export function createPathHider(dir: string): HidePaths {
  const folders = [...new Set([resolve(dir), realPath(dir)])].map(escapePattern);
  const socket = `${escapePattern(join(tmpdir(), 'shardlab-'))}[0-9a-f]+\\.sock`;
  const pattern = new RegExp(`(?:${folders.join('|')})(?:/[\\w.-]+)*|${socket}`, 'g');
  const hide = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replaceAll(pattern, (path) => basename(path));
    if (Array.isArray(value)) return value.map(hide);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, hide(inner)]));
  };
  return hide as HidePaths;
}

const escapePattern = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');

function realPath(dir: string): string {
  try {
    return realpathSync(dir);
  } catch {
    return resolve(dir); // it does not exist yet
  }
}
