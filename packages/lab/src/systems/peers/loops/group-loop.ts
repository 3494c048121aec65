/**
 * The same groups straight into SQLite: a transaction for each, with one row that has the messages of the group and one that has the
 * range of those that were consumed. Messages are in parts, tables of which a drained one is emptied as a whole and used again.
 */
import Database, { type Statement } from 'better-sqlite3';
import { blockBytesOf, type Group, type GroupStore, openLoop, roomFor, writeBlock } from './loop.ts';

/** The part that is filled is left for another one from this many messages on. */
const partMessages = 20_000;
const partsAtFirst = 4;

interface Part {
  insertBlock: Statement;
  insertRange: Statement;
  empty: readonly Statement[];
  messages: number;
  /** The number after that of its last message. */
  end: number;
}

class SqliteGroups implements GroupStore {
  readonly stated: string;
  readonly written = { syncs: 0, rows: 0 };
  readonly #file: Database.Database;
  readonly #begin: Statement;
  readonly #commit: Statement;
  /** Those that have messages, in their order. */
  readonly #parts: Part[] = [];
  readonly #free: Part[] = [];
  #created = 0;
  /** By subscriber: the number after that of the last consumed message. */
  readonly #consumed: number[];
  #block: Buffer = Buffer.alloc(4096);

  constructor(path: string, subscribers: number) {
    this.#consumed = Array.from({ length: subscribers }, () => 0);
    const file = new Database(`${path}.db`);
    this.#file = file;
    file.pragma('page_size = 16384');
    file.pragma('journal_mode = WAL');
    file.pragma('synchronous = FULL');
    file.pragma('wal_autocheckpoint = 2000');
    this.stated = `PRAGMA synchronous = ${String(file.pragma('synchronous', { simple: true }))}`;
    this.#begin = file.prepare('BEGIN IMMEDIATE');
    this.#commit = file.prepare('COMMIT');
    for (let index = 0; index < partsAtFirst; index += 1) this.#free.push(this.#createPart());
  }

  write({ first, payloads, consumed }: Group): void {
    this.#begin.run();
    if (payloads.length > 0) {
      const bytes = blockBytesOf(payloads);
      this.#block = roomFor(bytes, this.#block);
      writeBlock(payloads, this.#block);
      const part = this.#partToFill();
      part.insertBlock.run(first, payloads.length, this.#block.subarray(0, bytes));
      part.messages += payloads.length;
      part.end = first + payloads.length;
      this.written.rows += 1;
    }
    for (const range of consumed) {
      const end = range.first + range.count;
      // Where the last of its messages is: when that part is drained the range says nothing more.
      const part = this.#parts.find((each) => end <= each.end)!;
      part.insertRange.run(range.subscriber, range.first, range.count);
      this.#consumed[range.subscriber] = end;
      this.written.rows += 1;
    }
    this.#emptyDrained();
    this.#commit.run();
    this.written.syncs += 1;
  }

  close(): void {
    this.#file.close();
  }

  #partToFill(): Part {
    const last = this.#parts.at(-1);
    if (last !== undefined && last.messages < partMessages) return last;
    const part = this.#free.shift() ?? this.#createPart();
    this.#parts.push(part);
    return part;
  }

  /** The last part is kept: it is the one that is filled. */
  #emptyDrained(): void {
    const consumedThrough = Math.min(...this.#consumed);
    while (this.#parts.length > 1 && this.#parts[0]!.end <= consumedThrough) {
      const part = this.#parts.shift()!;
      for (const statement of part.empty) statement.run();
      part.messages = 0;
      this.#free.push(part);
    }
  }

  #createPart(): Part {
    const [block, range] = [`block_${this.#created}`, `range_${this.#created}`];
    this.#created += 1;
    this.#file.exec(`
      CREATE TABLE ${block} (first INTEGER PRIMARY KEY, count INTEGER NOT NULL, messages BLOB NOT NULL) STRICT;
      CREATE TABLE ${range} (subscriber INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL) STRICT;
    `);
    return {
      insertBlock: this.#file.prepare(`INSERT INTO ${block} VALUES (?, ?, ?)`),
      insertRange: this.#file.prepare(`INSERT INTO ${range} VALUES (?, ?, ?)`),
      // Without a condition SQLite frees the pages of a table without looking at its rows.
      empty: [block, range].map((table) => this.#file.prepare(`DELETE FROM ${table}`)),
      messages: 0,
      end: 0,
    };
  }
}

export const open = openLoop((path, subscribers) => new SqliteGroups(path, subscribers));
