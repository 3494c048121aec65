/**
 * Folders and files of a disk in memory. A power cut reverts the content and size of each file to what was last synced.
 * Creating, renaming and removing files counts as synced at once: the mildest disk that an application can meet.
 */
import { constants } from 'node:os';
import { FileContent } from './file-content.ts';

const { ENOENT, EEXIST, ENOTDIR, EISDIR, ENOTEMPTY } = constants.errno;

/** A refusal, with the number that the system call returns. */
export class DiskError extends Error {
  readonly errno: number;

  constructor(errno: number) {
    super(`disk error ${errno}`);
    this.errno = errno;
  }
}

interface Entry {
  /** Number by which the kernel knows it; the root's is 1. */
  id: number;
  /** Permission bits. */
  mode: number;
  changedAtMs: number;
}

export interface DiskFile extends Entry {
  content: FileContent;
}

export interface DiskFolder extends Entry {
  entries: Map<string, DiskEntry>;
}

export type DiskEntry = DiskFile | DiskFolder;

export const isFolder = (entry: DiskEntry): entry is DiskFolder => 'entries' in entry;

export const rootId = 1;

export class DiskContents {
  /** Removed entries stay here: a process may have them open. They are few, and gone with the disk. */
  readonly #byId = new Map<number, DiskEntry>();
  #lastId = rootId;

  constructor() {
    const root = { id: rootId, mode: 0o755, changedAtMs: Date.now(), entries: new Map() };
    this.#byId.set(rootId, root);
  }

  /** Throws `ENOENT`. */
  entry(id: number): DiskEntry {
    const entry = this.#byId.get(id);
    if (entry === undefined) throw new DiskError(ENOENT);
    return entry;
  }

  folder(id: number): DiskFolder {
    const entry = this.entry(id);
    if (!isFolder(entry)) throw new DiskError(ENOTDIR);
    return entry;
  }

  file(id: number): DiskFile {
    const entry = this.entry(id);
    if (isFolder(entry)) throw new DiskError(EISDIR);
    return entry;
  }

  lookUp(folder: number, name: string): DiskEntry {
    const entry = this.folder(folder).entries.get(name);
    if (entry === undefined) throw new DiskError(ENOENT);
    return entry;
  }

  createFile(folder: number, name: string, mode: number): DiskFile {
    return this.#add(folder, name, { ...this.#next(mode), content: new FileContent() });
  }

  createFolder(folder: number, name: string, mode: number): DiskFolder {
    return this.#add(folder, name, { ...this.#next(mode), entries: new Map() });
  }

  removeFile(folder: number, name: string): void {
    if (isFolder(this.lookUp(folder, name))) throw new DiskError(EISDIR);
    this.folder(folder).entries.delete(name);
  }

  removeFolder(folder: number, name: string): void {
    const entry = this.lookUp(folder, name);
    if (!isFolder(entry)) throw new DiskError(ENOTDIR);
    if (entry.entries.size > 0) throw new DiskError(ENOTEMPTY);
    this.folder(folder).entries.delete(name);
  }

  /** Replaces a file of the new name, or an empty folder if a folder is renamed. */
  rename(from: { folder: number; name: string }, to: { folder: number; name: string }): void {
    const entry = this.lookUp(from.folder, from.name);
    const target = this.folder(to.folder);
    const replaced = target.entries.get(to.name);
    if (replaced === entry) return;
    if (replaced !== undefined && isFolder(replaced)) {
      if (!isFolder(entry)) throw new DiskError(EISDIR);
      if (replaced.entries.size > 0) throw new DiskError(ENOTEMPTY);
    } else if (replaced !== undefined && isFolder(entry)) throw new DiskError(ENOTDIR);
    this.folder(from.folder).entries.delete(from.name);
    target.entries.set(to.name, entry);
  }

  /** Syncs everything, as the kernel does periodically. */
  syncAll(): void {
    for (const entry of this.#byId.values()) if (!isFolder(entry)) entry.content.sync();
  }

  cutPower(): void {
    for (const entry of this.#byId.values()) if (!isFolder(entry)) entry.content.forgetUnsynced();
  }

  #next(mode: number): Entry {
    this.#lastId += 1;
    return { id: this.#lastId, mode, changedAtMs: Date.now() };
  }

  #add<T extends DiskEntry>(folder: number, name: string, entry: T): T {
    const { entries } = this.folder(folder);
    if (entries.has(name)) throw new DiskError(EEXIST);
    entries.set(name, entry);
    this.#byId.set(entry.id, entry);
    return entry;
  }
}
