/** The binary form of the kernel's requests to a file system in user space, and of its answers: `linux/fuse.h`, version 7.31. */
import { type DiskEntry, isFolder } from './disk-contents.ts';

export const opcodes = {
  lookup: 1,
  forget: 2,
  getattr: 3,
  setattr: 4,
  mkdir: 9,
  unlink: 10,
  rmdir: 11,
  rename: 12,
  open: 14,
  read: 15,
  write: 16,
  statfs: 17,
  release: 18,
  fsync: 20,
  flush: 25,
  init: 26,
  opendir: 27,
  readdir: 28,
  releasedir: 29,
  fsyncdir: 30,
  access: 34,
  create: 35,
  interrupt: 36,
  destroy: 38,
  batchForget: 42,
  rename2: 45,
} as const;

/** Bytes of one write, and with its header of the largest request. */
export const writeBytesMax = 128 * 1024;
export const requestBytesMax = writeBytesMax + 4096;

const requestHeaderBytes = 40;
const answerHeaderBytes = 16;

export interface Request {
  opcode: number;
  /** Number that the answer repeats, so that it can be matched with the request. */
  unique: bigint;
  /** The entry that it is about. */
  id: number;
  body: Buffer;
}

/** `bytes` may be reused once the request is answered. */
export function readRequest(bytes: Buffer): Request {
  return {
    opcode: bytes.readUInt32LE(4),
    unique: bytes.readBigUInt64LE(8),
    id: Number(bytes.readBigUInt64LE(16)),
    body: bytes.subarray(requestHeaderBytes, bytes.readUInt32LE(0)),
  };
}

/** `errno` 0 for success. */
export function answerTo({ unique }: Request, errno: number, body: Buffer = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(answerHeaderBytes);
  header.writeUInt32LE(answerHeaderBytes + body.length, 0);
  header.writeInt32LE(-errno, 4);
  header.writeBigUInt64LE(unique, 8);
  return Buffer.concat([header, body]);
}

/** Names end with a zero byte. */
export function namesOf(bytes: Buffer): string[] {
  return bytes.toString('utf8').split('\0').slice(0, -1);
}

export const numberAt = (bytes: Buffer, offset: number): number => Number(bytes.readBigUInt64LE(offset));

export function initAnswer(kernelReadAheadMax: number): Buffer {
  const isWritesOverPage = 1 << 5;
  const hasPagesMax = 1 << 22;
  const body = Buffer.alloc(64);
  body.writeUInt32LE(7, 0);
  body.writeUInt32LE(31, 4);
  body.writeUInt32LE(kernelReadAheadMax, 8);
  body.writeUInt32LE(isWritesOverPage | hasPagesMax, 12);
  body.writeUInt16LE(16, 16); // requests in the background, …
  body.writeUInt16LE(12, 18); // … and from how many on they are too many
  body.writeUInt32LE(writeBytesMax, 20);
  body.writeUInt32LE(1, 24); // resolution of times, ns
  body.writeUInt16LE(writeBytesMax / 4096, 28);
  return body;
}

const attributesBytes = 88;
const kinds = { folder: 0o040000, file: 0o100000 };

function writeAttributes(body: Buffer, offset: number, entry: DiskEntry): void {
  const size = isFolder(entry) ? 4096 : entry.content.size;
  const seconds = BigInt(Math.floor(entry.changedAtMs / 1000));
  body.writeBigUInt64LE(BigInt(entry.id), offset);
  body.writeBigUInt64LE(BigInt(size), offset + 8);
  body.writeBigUInt64LE(BigInt(Math.ceil(size / 512)), offset + 16);
  for (const time of [24, 32, 40]) body.writeBigUInt64LE(seconds, offset + time);
  for (const nanos of [48, 52, 56]) {
    body.writeUInt32LE(Math.floor(entry.changedAtMs % 1000) * 1_000_000, offset + nanos);
  }
  body.writeUInt32LE((isFolder(entry) ? kinds.folder : kinds.file) | (entry.mode & 0o7777), offset + 60);
  body.writeUInt32LE(isFolder(entry) ? 2 : 1, offset + 64);
  body.writeUInt32LE(4096, offset + 80);
}

/** The kernel keeps no attribute and no name for longer than a call: a power cut changes what it would remember. */
export function attributesAnswer(entry: DiskEntry): Buffer {
  const body = Buffer.alloc(16 + attributesBytes);
  writeAttributes(body, 16, entry);
  return body;
}

export function entryAnswer(entry: DiskEntry): Buffer {
  const body = Buffer.alloc(40 + attributesBytes);
  body.writeBigUInt64LE(BigInt(entry.id), 0);
  writeAttributes(body, 40, entry);
  return body;
}

/** With `isDirect` reads and writes of the open file reach this process and are not served from the kernel's page cache. */
export function openAnswer(handle: number, { isDirect }: { isDirect: boolean }): Buffer {
  const body = Buffer.alloc(16);
  body.writeBigUInt64LE(BigInt(handle), 0);
  body.writeUInt32LE(isDirect ? 1 : 0, 8);
  return body;
}

/** A disk of 32 GiB that is empty, whatever is on it. */
export function statfsAnswer(): Buffer {
  const blocks = 8n * 1024n * 1024n;
  const body = Buffer.alloc(80);
  for (const offset of [0, 8, 16, 24, 32]) body.writeBigUInt64LE(blocks, offset);
  body.writeUInt32LE(4096, 40);
  body.writeUInt32LE(255, 44);
  body.writeUInt32LE(4096, 48);
  return body;
}

/** Encodes as many entries from `first` on as fit into `bytesMax`. */
export function folderAnswer(
  entries: readonly [string, DiskEntry][],
  first: number,
  bytesMax: number,
): Buffer {
  const parts: Buffer[] = [];
  let bytes = 0;
  for (const [index, [name, entry]] of entries.entries()) {
    if (index < first) continue;
    const nameBytes = Buffer.byteLength(name);
    const part = Buffer.alloc(24 + Math.ceil(nameBytes / 8) * 8);
    if (bytes + part.length > bytesMax) break;
    part.writeBigUInt64LE(BigInt(entry.id), 0);
    part.writeBigUInt64LE(BigInt(index + 1), 8);
    part.writeUInt32LE(nameBytes, 16);
    part.writeUInt32LE((isFolder(entry) ? kinds.folder : kinds.file) >> 12, 20);
    part.write(name, 24);
    parts.push(part);
    bytes += part.length;
  }
  return Buffer.concat(parts);
}
