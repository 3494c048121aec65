/**
 * What a process under torture tells, and how the parent reads it. A line is written by one system call before anything
 * else happens, so what it says was so when the process was killed. Lines carry the system's monotonic time: several
 * processes of a machine can be put in order by it.
 *
 *     <ns> o                        begins to open its instance           <ns> w   is at work: commits were acknowledged
 *     <ns> b <transaction> <puts> <takes>    is about to commit; items are joined by commas, - is none
 *     <ns> c <transaction>          that commit was acknowledged          <ns> f <transaction>   it was refused
 *     <ns> d <item>#<shard>,…       was handed these, in this order
 *     <ns> x <text>                 got a payload that is not what was enqueued
 *     <ns> ! <text>                 failed in a way that nothing explains
 */
import { writeSync } from 'node:fs';
import type { Item } from './item.ts';

/** The file descriptor of the pipe to the parent. */
export const notesPipe = 3;

export interface Delivered {
  item: Item;
  shard: string;
}

/** The name of a shard whose messages are delivered by several processes, in one order all together. */
export const movingShard = (shard: string): string => `~${shard}`;
export const isMoving = (shard: string): boolean => shard.startsWith('~');

export type Note =
  | { kind: 'opening' | 'working' }
  | { kind: 'about'; transaction: string; puts: Item[]; takes: Item[] }
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
  if (note.kind === 'about') return `${note.transaction} ${join(note.puts)} ${join(note.takes)}`;
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
  if (ns === undefined || kind === undefined) throw new Error(`No note: ${line}`);
  return { atNs: BigInt(ns), note: parseBody(kind, body ?? '') };
}

function parseBody(kind: Note['kind'], body: string): Note {
  switch (kind) {
    case 'about': {
      const [transaction = '', puts = '-', takes = '-'] = body.split(' ');
      return { kind, transaction, puts: split(puts), takes: split(takes) };
    }
    case 'committed':
    case 'refused':
      return { kind, transaction: body };
    case 'delivered': {
      const delivered = split(body).map((each) => {
        const [item = '', shard = ''] = each.split('#');
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
