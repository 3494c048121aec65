/** The book in which a process records its work, and what follows from it and from the recovered messages after a kill. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Book, readBooks } from '../src/integrity/book.ts';
import { judgeKilled } from '../src/integrity/judge-killed.ts';
import { Ledger, type LedgerReport } from '../src/integrity/ledger.ts';
import { PayloadCodec } from '../src/integrity/payload.ts';

/** The bytes of a book after `work` has written to it. */
function write(work: (book: Book) => void): Buffer {
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const book = new Book(join(dir, 'book'));
  work(book);
  book.close();
  return readFileSync(join(dir, 'book'));
}

const message = (sequence: number, enqueuer = 0) => ({ enqueuer, sequence, sentAtMs: 0 });
const messages = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => message(from + index));

/** The ledger of a process that recovered and consumed these messages after the kill. */
function recovered(...sequences: number[]): LedgerReport {
  const ledger = new Ledger(new PayloadCodec({ bytes: 32, seed: 1, nonce: 1 }));
  for (const sequence of sequences) ledger.recordConsumed(message(sequence));
  return ledger.report();
}

/**
 * Writes the work of the killed process: six enqueues were acknowledged and two are in doubt; the consumption of messages 0 and 1
 * was acknowledged, that of 2 is in doubt.
 */
const life = (book: Book) => {
  book.enqueueing(0, 6);
  book.enqueued(0, 6);
  book.consuming(0, 0, messages(0, 2));
  book.consumed(0, 0);
  book.consuming(0, 0, messages(2, 3));
  book.enqueueing(0, 8);
};

const judge = (bytes: Buffer[], ...reports: LedgerReport[]) =>
  judgeKilled({
    durability: 'durable',
    sources: 1,
    books: readBooks(bytes),
    recovered: reports.map((report) => [report]),
  });

const faultless = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0 };

describe('after a kill', () => {
  test.each([
    ['nothing in doubt happened', [2, 3, 4, 5]],
    ['all that was in doubt happened', [3, 4, 5, 6, 7]],
  ])('all is well if %s', (_, sequences) => {
    expect(judge([write(life)], recovered(...sequences))).toMatchObject({
      ...faultless,
      enqueued: 6,
      consumed: 2,
      inDoubt: 3,
      recovered: sequences.length,
    });
  });

  test('several processes may each recover a part of the messages', () => {
    expect(judge([write(life)], recovered(2, 4), recovered(3, 5))).toMatchObject(faultless);
    expect(judge([write(life)], recovered(2, 4), recovered(3, 4, 5))).toMatchObject({ duplicated: 1 });
  });

  test('an acknowledged message that is not recovered is lost', () => {
    expect(judge([write(life)], recovered(2, 3, 5))).toMatchObject({ ...faultless, lost: 1 });
    expect(judge([write(life)], recovered())).toMatchObject({ ...faultless, lost: 3 });
  });

  test('as many missing messages are in doubt as calls may have removed one that nobody received', () => {
    const found = (unseenMax: number) =>
      judgeKilled({
        ...{ durability: 'always', sources: 1, books: readBooks([write(life)]) },
        ...{ recovered: [[recovered(2, 5)]], unseenMax },
      });
    expect(found(0)).toMatchObject({ lost: 2, inDoubt: 3 });
    expect(found(1)).toMatchObject({ lost: 1, inDoubt: 4 });
    expect(found(3)).toMatchObject({ lost: 0, inDoubt: 5 });
  });

  test('a message whose consumption was acknowledged must not come back', () => {
    expect(judge([write(life)], recovered(1, 3, 4, 5))).toMatchObject({ ...faultless, duplicated: 1 });
  });

  test('a message that nobody enqueued is damaged', () => {
    expect(judge([write(life)], recovered(3, 4, 5, 8))).toMatchObject({ ...faultless, damaged: 1 });
  });

  test('two sources are judged separately', () => {
    const bytes = write((book) => {
      book.enqueueing(0, 1);
      book.enqueued(0, 1);
      book.consuming(1, 0, [message(0)]);
      book.consumed(1, 0);
    });
    const options = { durability: 'durable', sources: 2, books: readBooks([bytes]) };
    expect(judgeKilled({ ...options, recovered: [[recovered(0), recovered()]] })).toMatchObject(faultless);
    expect(judgeKilled({ ...options, recovered: [[recovered(), recovered(0)]] })).toMatchObject({
      lost: 1,
      duplicated: 1,
    });
  });
});

describe('a book', () => {
  test('that was cut off anywhere never reports an acknowledgment that did not happen', () => {
    const bytes = write(life);
    for (let length = 0; length <= bytes.length; length += 1) {
      const { enqueuers, sources } = readBooks([bytes.subarray(0, length)]);
      const { attempted = 0, acknowledged = 0 } = enqueuers.get(0) ?? {};
      expect(acknowledged).toBeLessThanOrEqual(attempted);
      const consumed = sources.get(0)?.consumed.size ?? 0;
      if (consumed > 0) expect(acknowledged).toBe(6);
    }
  });

  test('keeps a transaction that was undone and tried again as in doubt', () => {
    const bytes = write((book) => {
      book.enqueueing(0, 3);
      book.enqueued(0, 3);
      book.consuming(0, 7, messages(0, 2));
      book.consuming(0, 7, messages(1, 3));
      book.consumed(0, 7);
    });
    expect(judge([bytes], recovered(0))).toMatchObject({ ...faultless, consumed: 2, inDoubt: 2 });
    expect(judge([bytes], recovered())).toMatchObject(faultless);
  });

  test('with the same message consumed twice shows a duplicate', () => {
    const twice = (book: Book) => {
      book.enqueueing(0, 1);
      book.enqueued(0, 1);
      for (const dequeuer of [1, 2]) {
        book.consuming(0, dequeuer, [message(0)]);
        book.consumed(0, dequeuer);
      }
    };
    expect(judge([write(twice)], recovered())).toMatchObject({ duplicated: 1 });
  });
});
