/**
 * Notes that a process under test writes and its parent reads. A line is written by one system call before anything else
 * happens, so it is still valid when the process is killed. Lines carry the system's monotonic time, by which the notes
 * of several processes can be ordered.
 *
 *     <ns> o                        starts to open its instance           <ns> w   is working: commits were acknowledged
 *     <ns> b <transaction> <enqueues> <consumes>    is about to commit; items are separated by commas, - means none
 *     <ns> c <transaction>          the commit was acknowledged           <ns> f <transaction>   the commit was refused
 *     <ns> d <item>#<shard>,…       received these deliveries, in this order
 *     <ns> x <text>                 received a payload that differs from what was enqueued
 *     <ns> ! <text>                 failed with an unexpected error
 */
import { writeSync } from 'node:fs';
import type { Item } from './item.ts';

/** The file descriptor of the pipe to the parent. */
export const notesPipe = 3;

export interface Delivered {
  item: Item;
  shard: string;
}

/** The name of a shard whose messages are delivered by several processes in one common order. */
export const forwardedShard = (shard: string): string => `~${shard}`;
export const isForwardedShard = (shard: string): boolean => shard.startsWith('~');

export type Note =
  | { kind: 'opening' | 'working' }
  | { kind: 'about'; transaction: string; enqueues: Item[]; consumes: Item[] }
  | { kind: 'committed' | 'refused'; transaction: string }
  | { kind: 'delivered'; delivered: Delivered[] }
  | { kind: 'damaged' | 'failed'; text: string };

export interface TimedNote {
  atNs: bigint;
  note: Note;
}

const marks = {
  opening: 'o',
  working: 'w',
  about: 'b',
  committed: 'c',
  refused: 'f',
  delivered: 'd',
  damaged: 'x',
  failed: '!',
} as const satisfies Record<Note['kind'], string>;

const join = (items: readonly string[]) => (items.length === 0 ? '-' : items.join(','));
const split = (text: string) => (text === '-' ? [] : text.split(','));

function bodyOf(note: Note): string {
  if ('text' in note) return note.text.replaceAll('\n', ' ');
  if (note.kind === 'about') return `${note.transaction} ${join(note.enqueues)} ${join(note.consumes)}`;
  if (note.kind === 'delivered') return join(note.delivered.map(({ item, shard }) => `${item}#${shard}`));
  return 'transaction' in note ? note.transaction : '';
}

export function writeNote(note: Note): void {
  const line = Buffer.from(`${process.hrtime.bigint()} ${marks[note.kind]} ${bodyOf(note)}\n`);
  for (let written = 0; written < line.length; ) written += writeSync(notesPipe, line, written);
}

const kindByMark = new Map(
  Object.entries(marks).map(([kind, mark]) => [mark as string, kind as Note['kind']]),
);

export function parseNote(line: string): TimedNote {
  const [, ns, mark, body] = /^(\d+) (.) ?(.*)$/s.exec(line) ?? [];
  const kind = kindByMark.get(mark ?? '');
  if (ns === undefined || kind === undefined) throw new Error(`Not a note: ${line}`);
  return { atNs: BigInt(ns), note: parseBody(kind, body ?? '') };
}

function parseBody(kind: Note['kind'], body: string): Note {
  switch (kind) {
    case 'about': {
      const [transaction = '', enqueues = '-', consumes = '-'] = body.split(' ');
      return { kind, transaction, enqueues: split(enqueues), consumes: split(consumes) };
    }
    case 'committed':
    case 'refused':
      return { kind, transaction: body };
    case 'delivered': {
      const delivered = split(body).map((delivery) => {
        const [item = '', shard = ''] = delivery.split('#');
        return { item, shard };
      });
      return { kind, delivered };
    }
    case 'damaged':
    case 'failed':
      return { kind, text: body };
    default:
      return { kind };
  }
}
