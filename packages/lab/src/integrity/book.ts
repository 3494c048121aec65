/**
 * The attempts of a process's sessions and their results, in a form that survives a kill of the process. Each record is written
 * to a file before the session continues: bytes that a process has passed to the kernel survive its kill. So the same book serves
 * embedded sessions, which die with their instance, and remote ones, whose connections do.
 *
 * Records are numbers of 32 bits, little-endian: the kind, then
 *
 *     1 enqueueing, 2 enqueued   enqueuer, number of its messages up to the end of this transaction
 *     3 consuming                source, dequeuer, number of messages, then enqueuer and sequence of each
 *     4 consumed                 source, dequeuer: the commit of its last `consuming` was acknowledged
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { endianness } from 'node:os';
import { join } from 'node:path';
import type { PayloadIdentity } from './payload.ts';
import { SequenceSet } from './sequence-set.ts';

type Identity = Pick<PayloadIdentity, 'enqueuer' | 'sequence'>;

const [enqueueing, enqueued, consuming, consumed] = [1, 2, 3, 4];

export class Book {
  readonly #file: number;

  constructor(path: string) {
    if (endianness() !== 'LE') throw new Error('The book of a trial needs a little-endian processor');
    this.#file = openSync(path, 'a');
  }

  enqueueing(enqueuer: number, upTo: number): void {
    this.#write([enqueueing, enqueuer, upTo]);
  }

  enqueued(enqueuer: number, upTo: number): void {
    this.#write([enqueued, enqueuer, upTo]);
  }

  consuming(source: number, dequeuer: number, messages: readonly Identity[]): void {
    const identities = messages.flatMap(({ enqueuer, sequence }) => [enqueuer, sequence]);
    this.#write([consuming, source, dequeuer, messages.length, ...identities]);
  }

  consumed(source: number, dequeuer: number): void {
    this.#write([consumed, source, dequeuer]);
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(numbers: readonly number[]): void {
    const bytes = new Uint8Array(Uint32Array.from(numbers).buffer);
    // Only a full disk writes less than all, which then throws.
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
  }
}

/** The book of one source: messages by enqueuer. */
export interface BookedSource {
  /** Consumed by acknowledged transactions. */
  consumed: Map<number, SequenceSet>;
  /** Consumed by transactions that were not acknowledged: each of them may be consumed or not. */
  inDoubt: Map<number, SequenceSet>;
  /** Consumed by two acknowledged transactions. */
  duplicated: number;
}

export interface BookContent {
  /** For each enqueuer: messages 0 to `acknowledged` (exclusive) exist; those up to `attempted` may exist. */
  enqueuers: Map<number, { attempted: number; acknowledged: number }>;
  /** Books by the number of the source. */
  sources: Map<number, BookedSource>;
}

/** Reads all books of a folder as one. */
export async function readBookFolder(dir: string): Promise<BookContent> {
  return readBooks(await Promise.all((await readdir(dir)).map((name) => readFile(join(dir, name)))));
}

/** Reads books of several processes as one. A truncated last record is ignored: its operation did not happen. */
export function readBooks(books: readonly Buffer[]): BookContent {
  const content: BookContent = { enqueuers: new Map(), sources: new Map() };
  for (const book of books) readBook(book, content);
  return content;
}

function readBook(book: Buffer, { enqueuers, sources }: BookContent): void {
  const words = new Uint32Array(new Uint8Array(book).buffer, 0, book.length >>> 2);
  /** Positions of the messages of each open transaction, by source and dequeuer. */
  const open = new Map<string, [from: number, to: number]>();
  const messagesIn = ([from, to]: [number, number]) =>
    Array.from({ length: (to - from) / 2 }, (_, index) => ({
      enqueuer: words[from + 2 * index]!,
      sequence: words[from + 2 * index + 1]!,
    }));
  let at = 0;
  while (at + 3 <= words.length) {
    const [kind, first, second] = [words[at]!, words[at + 1]!, words[at + 2]!];
    at += 3;
    if (kind === enqueueing || kind === enqueued) {
      const known = enqueuers.get(first) ?? { attempted: 0, acknowledged: 0 };
      const field = kind === enqueued ? 'acknowledged' : 'attempted';
      enqueuers.set(first, { ...known, [field]: Math.max(known[field], second) });
      continue;
    }
    const key = `${first}/${second}`;
    const source = sourceOf(sources, first);
    const last = open.get(key);
    open.delete(key);
    if (kind === consumed) {
      for (const message of messagesIn(last ?? [0, 0]))
        if (!add(source.consumed, message)) source.duplicated += 1;
      continue;
    }
    // A transaction that was undone, or that got no answer.
    for (const message of messagesIn(last ?? [0, 0])) add(source.inDoubt, message);
    const end = at + 1 + 2 * (words[at] ?? 0);
    if (at >= words.length || end > words.length) break;
    open.set(key, [at + 1, end]);
    at = end;
  }
  for (const [key, range] of open) {
    const source = sourceOf(sources, Number.parseInt(key, 10));
    for (const message of messagesIn(range)) add(source.inDoubt, message);
  }
}

function sourceOf(sources: BookContent['sources'], number: number): BookedSource {
  const known = sources.get(number) ?? { consumed: new Map(), inDoubt: new Map(), duplicated: 0 };
  sources.set(number, known);
  return known;
}

/** Returns false if the message was already in the set. */
function add(sets: Map<number, SequenceSet>, { enqueuer, sequence }: Identity): boolean {
  const set = sets.get(enqueuer) ?? new SequenceSet();
  sets.set(enqueuer, set);
  return set.add(sequence);
}
