/** The document's own statements about its outputs, for the lint. */
import type { DocumentNumbers } from '../../../document-lint/document-numbers.ts';
import { type RunName, waitOf, xaDocument } from './document-figures.ts';

const { C1, C2, C3, C4, C5, C6 } = xaDocument;
const rowOf = (name: RunName, event: string) => xaDocument[name].waits.find(([each]) => each === event)!;
const longestOf = (name: RunName) => rowOf(name, 'log file sync')[2];
const seconds = (where: string, value: number) => ({ where, value, unit: 's' }) as const;
const rateOf = (name: RunName) => {
  const { statedTps, elapsedS, inserts } = xaDocument[name];
  return { where: `test ${name}`, perSec: statedTps, elapsedS, done: inserts };
};

export const documentNumbers: readonly DocumentNumbers[] = [
  {
    kind: 'same',
    claims: ['X1'],
    what: 'The longest log file sync of one session (C1)',
    stated: [seconds('its table', longestOf('C1')), { where: 'its summary', value: 8, unit: 'ms' }],
  },
  {
    kind: 'waits',
    claims: ['X1'],
    what: 'Log file syncs of one session (C1)',
    waits: waitOf(C1, 'log file sync').waits,
    total: seconds('its table', waitOf(C1, 'log file sync').totalS),
    longest: { where: 'its summary', value: 8, unit: 'ms' },
  },
  {
    kind: 'same',
    claims: ['X1'],
    what: 'The longest log file sync of two sessions (C2)',
    stated: [seconds('its table', longestOf('C2')), { where: 'its summary', value: 42, unit: 'ms' }],
  },
  {
    kind: 'rates',
    claims: ['X2', 'X3'],
    what: 'Transactions per second (C1 to C5)',
    runs: (['C1', 'C2', 'C3', 'C4', 'C5'] as const).map(rateOf),
  },
  {
    kind: 'same',
    claims: ['X4'],
    what: 'Time in gc current block busy (C5)',
    stated: [seconds('its table', waitOf(C5, 'gc current block busy').totalS), seconds('its summary', 1.27)],
  },
  {
    kind: 'same',
    claims: ['X4'],
    what: 'Time in DFS lock handle on one instance (C4)',
    stated: [seconds('its table', waitOf(C4, 'DFS lock handle').totalS), seconds('its summary', 0.32)],
  },
  {
    kind: 'difference',
    claims: ['X5'],
    what: 'How much longer the run takes if the other instance prepares (C5, C6)',
    from: seconds('C5', C5.elapsedS),
    to: seconds('C6', C6.elapsedS),
    stated: seconds('summary of C6', 3),
  },
  {
    kind: 'difference',
    claims: ['X5'],
    what: 'How much longer it waits for the DFS lock handle (C5, C6)',
    from: seconds('C5', waitOf(C5, 'DFS lock handle').totalS),
    to: seconds('C6', waitOf(C6, 'DFS lock handle').totalS),
    stated: seconds('summary of C6', 2),
  },
  ...Object.entries({ C1, C2, C3, C4, C5, C6 }).flatMap(
    ([name, { roundTrips, cpuCs }]): DocumentNumbers[] => [
      {
        kind: 'sum',
        claims: ['X6'],
        what: `Round trips of all sessions (${name})`,
        where: 'its output',
        parts: roundTrips,
        sum: { C1: 2_007, C2: 4_013, C3: 4_013 }[name] ?? 9_013,
      },
      {
        kind: 'sum',
        claims: ['X6'],
        what: `CPU of all sessions (${name})`,
        where: 'its output',
        parts: cpuCs,
        sum: { C1: 42, C2: 104, C3: 106, C4: 148, C5: 477, C6: 504 }[name]!,
      },
    ],
  ),
];
