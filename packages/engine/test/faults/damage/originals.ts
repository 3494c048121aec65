/**
 * The two folders of which rounds damage copies. Each is filled once, by a process of its own, and kept in memory, so that a round only
 * writes a few files.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { observe } from './observe.ts';

/** `closed`: its instances were closed. `killed`: its process was killed, so that the logs are not empty. */
export type FolderName = 'closed' | 'killed';

export interface StoredFile {
  bytes: Buffer;
  /** The positions of bytes that are not zero, in order. */
  used: Uint32Array;
  /** The content of the file after the first stage; empty if it did not exist then. */
  older: Buffer;
}

export interface Original {
  /** Files by name, sorted. Sockets are left out, since their processes have ended. */
  files: ReadonlyMap<string, StoredFile>;
  /** The lines that are read from an undamaged copy, sorted. */
  book: string[];
}

export interface Originals {
  /** The folder in which rounds make their copies. */
  dir: string;
  folders: Record<FolderName, Original>;
}

const maker = fileURLToPath(new URL('./make-folder.ts', import.meta.url));

/** Fills both folders in the existing `dir`. Throws if an undamaged copy reports damage. */
export async function makeOriginals(dir: string): Promise<Originals> {
  const [closed, killed] = await Promise.all([makeOriginal(dir, 'closed'), makeOriginal(dir, 'killed')]);
  return { dir, folders: { closed, killed } };
}

async function makeOriginal(dir: string, name: FolderName): Promise<Original> {
  const folder = join(dir, name);
  await fill(folder, name);
  const files = readFiles(folder, `${folder}-older`);
  const copy = `${folder}-undamaged`;
  mkdirSync(copy);
  writeFolder(copy, files);
  const seen = await observe(copy);
  rmSync(copy, { recursive: true });
  const complaints = [...seen.reports, ...seen.unexplained];
  if (complaints.length > 0) throw new Error(`An undamaged folder reports ${JSON.stringify(complaints)}`);
  return { files, book: seen.items.toSorted() };
}

async function fill(dir: string, end: FolderName): Promise<void> {
  mkdirSync(dir);
  const child = spawn(process.execPath, [maker, dir, end], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  const ready = once(child.stdout, 'data');
  await Promise.race([
    ready,
    exit.then(([code]) => {
      throw new Error(`The process that fills the folder ended with ${code}`);
    }),
  ]);
  if (end === 'killed') child.kill('SIGKILL');
  await exit;
}

function readFiles(dir: string, olderDir: string): Map<string, StoredFile> {
  const names = readdirSync(dir)
    .filter((name) => !name.endsWith('.sock'))
    .toSorted();
  return new Map(
    names.map((name) => {
      const bytes = readFileSync(join(dir, name));
      const older = join(olderDir, name);
      return [
        name,
        {
          bytes,
          used: usedPositions(bytes),
          older: existsSync(older) ? readFileSync(older) : Buffer.alloc(0),
        },
      ];
    }),
  );
}

function usedPositions(bytes: Buffer): Uint32Array {
  const used = new Uint32Array(bytes.length);
  let count = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    if (bytes[at] === 0) continue;
    used[count] = at;
    count += 1;
  }
  return used.slice(0, count);
}

export function writeFolder(dir: string, files: ReadonlyMap<string, StoredFile>): void {
  for (const [name, { bytes }] of files) writeFileSync(join(dir, name), bytes);
}
