/** The document's own statements about its table, for the lint. */
import type { DocumentNumbers } from '../../../document-lint/document-numbers.ts';
import { listenDocument, modelGets } from './document-figures.ts';

const { table, check } = listenDocument;
const count = (where: string, value: number) => ({ where, value, unit: 'count' }) as const;
/** Its column Total_MSGs, by the number of sessions. */
const totalMessages: Readonly<Record<number, number>> = {
  1: 11_884,
  2: 23_280,
  4: 37_680,
  8: 52_152,
  16: 50_896,
  32: 46_112,
  64: 42_688,
};
const most = table.at(-1)!;

export const documentNumbers: readonly DocumentNumbers[] = [
  {
    kind: 'totals',
    claims: ['L1'],
    what: 'Messages of all sessions (Total_MSGs)',
    rows: table.map(({ sessions, messages }) => ({
      where: `${sessions} sessions`,
      one: messages,
      parts: sessions,
      total: totalMessages[sessions]!,
    })),
  },
  {
    kind: 'same',
    claims: ['L1'],
    what: 'Messages of session 32 of 32',
    stated: [
      count('its table', table.find(({ sessions }) => sessions === 32)!.messages),
      count('the detail by session', 1_426),
    ],
  },
  {
    kind: 'same',
    claims: ['L6'],
    what: `Gets of the latch for ${check.dequeues.toLocaleString('en-US')} dequeues`,
    stated: [
      count('its check of the model', check.computed),
      count('6 · N · M', modelGets.latch * check.sessions * check.dequeues),
    ],
  },
  {
    kind: 'sum',
    claims: ['L6'],
    what: 'Gets of the latch that the model computes, with the misses',
    where: 'its check of the model',
    parts: [check.computed, check.misses],
    sum: check.withMisses,
  },
  {
    kind: 'sum',
    claims: ['L6'],
    what: 'Recurrent sleeps for the latch: sleeps + spin gets − misses',
    where: 'its check of the model',
    parts: [check.sleeps, check.spinGets, -check.misses],
    sum: check.recurrentSleeps,
  },
  {
    kind: 'same',
    claims: ['L6'],
    what: `Gets of the mutex for a dequeue with ${most.sessions} sessions`,
    stated: [count('its table', most.mutexGetsPerDequeue), count('12 · N', modelGets.mutex * most.sessions)],
  },
  {
    kind: 'same',
    claims: ['L10'],
    what: 'Internal time-out of a dequeue by the name of a subscriber',
    stated: [
      { where: 'its text', value: 1, unit: 's' },
      { where: 'its trace, {3, 0}', value: 3, unit: 's' },
    ],
  },
];
