/** Compares what was acknowledged before a kill with what new processes found in the folder. Pure. */
import type { KilledTrial } from '@shardlab/contract';
import type { BookContent, BookedSource } from './book.ts';
import { type LedgerReport, mergeLedgers } from './ledger.ts';
import { countAtOrAbove, countShared, type SequenceSet, uniteInto } from './sequence-set.ts';

const nothing: BookedSource = { consumed: new Map(), inDoubt: new Map(), duplicated: 0 };

/**
 * `recovered` has the ledgers of the new processes, each by source; they enqueued nothing. Per source, then summed:
 *
 * - lost: its enqueue was acknowledged, and it was neither recovered nor in a transaction that consumed it, or may have;
 * - duplicated: its consumption was acknowledged and it was recovered, or two transactions consumed it;
 * - damaged: recovered with a wrong checksum, or never enqueued.
 *
 * A message whose delivery was not acknowledged may be recovered: that is no fault.
 */
export function judgeKilled(options: {
  durability: string;
  sources: number;
  books: BookContent;
  recovered: readonly (readonly LedgerReport[])[];
  /**
   * Default 0: calls under way at the kill, each of which may have removed a message that no consumer received. So many missing
   * messages are in doubt.
   */
  unseenMax?: number;
}): KilledTrial {
  const { durability, sources, books, recovered, unseenMax = 0 } = options;
  const perSource = Array.from({ length: sources }, (_, source) => {
    const reports = recovered.map((ledgers) => ledgers[source]!);
    return judgeSource(books, books.sources.get(source) ?? nothing, reports);
  });
  const sum = (count: keyof (typeof perSource)[number]) =>
    perSource.reduce((total, each) => total + each[count], 0);
  const enqueuers = [...books.enqueuers.values()];
  const undecided = enqueuers.reduce((total, each) => total + each.attempted - each.acknowledged, 0);
  const unseen = Math.min(unseenMax, sum('lost'));
  return {
    durability,
    enqueued: enqueuers.reduce((total, { acknowledged }) => total + acknowledged, 0),
    consumed: sum('consumed'),
    inDoubt: undecided + sum('inDoubt') + unseen,
    recovered: sum('recovered'),
    lost: sum('lost') - unseen,
    duplicated: sum('duplicated'),
    damaged: sum('damaged'),
    outOfOrder: sum('outOfOrder'),
    left: sum('left'),
  };
}

function judgeSource({ enqueuers }: BookContent, booked: BookedSource, reports: readonly LedgerReport[]) {
  const attempted = new Map([...enqueuers].map(([enqueuer, counts]) => [enqueuer, counts.attempted]));
  const noneCommitted = reports.map((report) => ({ ...report, committed: new Map<number, number>() }));
  const found = mergeLedgers([{ ...empty, committed: attempted }, ...noneCommitted]);
  const counts = { consumed: 0, inDoubt: 0, recovered: 0, lost: 0, duplicated: booked.duplicated };
  const numbers = [...enqueuers.keys(), ...booked.consumed.keys(), ...booked.inDoubt.keys()];
  for (const enqueuer of new Set([...numbers, ...reports.flatMap(enqueuersOf)])) {
    const acknowledged = enqueuers.get(enqueuer)?.acknowledged ?? 0;
    const consumed = wordsOf(booked.consumed, enqueuer);
    const inDoubt = wordsOf(booked.inDoubt, enqueuer);
    const recovered = reports
      .flatMap((report) => [report.consumed.get(enqueuer) ?? none, report.left.get(enqueuer) ?? none])
      .reduce((all, words) => uniteInto(all, words), none.slice());
    const known = uniteInto(uniteInto(recovered.slice(), consumed), inDoubt);
    counts.consumed += size(consumed);
    counts.inDoubt += size(inDoubt);
    counts.recovered += size(recovered);
    counts.lost += acknowledged - (size(known) - countAtOrAbove(known, acknowledged));
    counts.duplicated += countShared(consumed, recovered);
  }
  const { duplicated, damaged, outOfOrder, left } = found;
  return { ...counts, duplicated: counts.duplicated + duplicated, damaged, outOfOrder, left };
}

const none = new Uint32Array(0);
const empty: LedgerReport = {
  committed: new Map(),
  consumed: new Map(),
  left: new Map(),
  duplicated: 0,
  damaged: 0,
  outOfOrder: 0,
};
const size = (words: Uint32Array) => countShared(words, words);
const wordsOf = (sets: Map<number, SequenceSet>, enqueuer: number) => sets.get(enqueuer)?.words() ?? none;
const enqueuersOf = ({ consumed, left }: LedgerReport) => [...consumed.keys(), ...left.keys()];
