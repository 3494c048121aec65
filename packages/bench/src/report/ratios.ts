/** The ratios that targets are about: never a rate alone, since machines differ and this one is measured in the same run. */
import { names } from '../plan/trials.ts';
import type { RawFigure, Result } from './results.ts';

export interface Ratio {
  /** Null: not measured, and the reason says why. */
  value: number | null;
  reason: string;
}

export interface Figures {
  rawLimit: readonly RawFigure[];
  results: readonly Result[];
  /** The backlogs that were compared. */
  standing: { small: number; large: number };
}

const whole = (value: number) => Math.round(value).toLocaleString('en');
const short = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 3 });
const unmeasured = (what: string): Ratio => ({ value: null, reason: `${what}: not measured` });

type Phase = Result['phase'];

export function ratiosOf(figures: Figures) {
  const { rawLimit, results, standing } = figures;
  const find = (trial: string, phase: Phase = 'both at once') =>
    results.find((result) => result.trial === trial && result.phase === phase);
  const raw = (cycle: RawFigure['cycle'], operations: number) =>
    Math.max(
      0,
      ...rawLimit
        .filter((figure) => figure.cycle === cycle && figure.operationsPerTransaction === operations)
        .map((figure) => figure.rowsPerSec.median),
    );
  const ofR = (trial: string) =>
    over(find(trial)?.dequeuePerSec, raw('insert', 1_000), {
      what: trial,
      unit: 'dequeues/s',
      base: 'rows/s (R)',
    });
  const single = find(names.single1, 'enqueue only');
  const [cpuUnsharded, cpuSharded] = [find('unsharded, both at once, 10'), find(names.queue10Single)];
  const large = find(names.standing(standing.large), 'standing backlog');
  const small = find(names.standing(standing.small), 'standing backlog');
  return {
    queue10: ofR(names.queue10),
    queue1000: ofR(names.queue1000),
    queue1x32: ofR(names.queue1x32),
    single1: over(single?.enqueuePerSec, raw('insert', 1), {
      what: names.single1,
      unit: 'commits/s',
      base: 'raw',
    }),
    topic10: over(find(names.topic10)?.dequeuePerSec, raw('insert', 1_000), {
      what: names.topic10,
      unit: 'deliveries/s',
      base: 'rows/s (R)',
    }),
    cpuUnshardedOverSharded: over(cpuUnsharded?.cpuUsPerMessage, cpuSharded?.cpuUsPerMessage ?? 0, {
      what: 'CPU a message',
      unit: 'µs unsharded',
      base: 'sharded',
    }),
    unshardedOverRawCycle: worst(
      sizesOf(rawLimit).map((operations) =>
        over(
          find(`unsharded, both at once, ${operations}`)?.dequeuePerSec,
          raw('insert-select-delete', operations),
          { what: `unsharded × ${operations}`, unit: 'dequeues/s', base: 'of the raw cycle' },
        ),
      ),
      'unsharded',
    ),
    unshardedOverBestSqlitePeer: comparison(figures, {
      ours: ({ driver }) => driver === 'unsharded',
      theirs: ({ driver, synced }) => driver === 'plainjob' && synced,
      what: 'plainjob FULL',
    }),
    overBestSyncedPeer: comparison(figures, {
      ours: remoteOurs,
      theirs: (result) => serverPeer(result) && result.synced,
      what: 'our remote sessions against servers that sync before they acknowledge',
    }),
    overBestPeer: comparison(figures, {
      ours: remoteOurs,
      theirs: serverPeer,
      what: 'our remote sessions against servers at any durability',
    }),
    backlog: over(large?.dequeuePerSec, small?.dequeuePerSec ?? 0, {
      what: `a standing backlog of ${whole(standing.large)}`,
      unit: 'dequeues/s',
      base: `with ${whole(standing.small)}`,
    }),
  } satisfies Record<string, Ratio>;
}

export type RatioName = keyof ReturnType<typeof ratiosOf>;

const remoteOurs = ({ driver, placement }: Result) => driver === 'sharded' && placement === 'remote';
const serverPeer = ({ driver, placement }: Result) => driver !== 'sharded' && placement === 'remote';

/** Both measured: their quotient. `unit` names the first figure and `base` the second. */
function over(
  value: number | null | undefined,
  base: number,
  words: { what: string; unit: string; base: string },
): Ratio {
  if (value === null || value === undefined) return unmeasured(words.what);
  if (!(base > 0)) return unmeasured(words.base);
  const figure = (each: number) => (each < 1_000 ? short(each) : whole(each));
  return { value: value / base, reason: `${figure(value)} ${words.unit} over ${figure(base)} ${words.base}` };
}

/** Sizes of transactions that both the queues and the raw cycle were measured at. */
const sizesOf = (rawLimit: readonly RawFigure[]) =>
  [1, 10, 1_000].filter((size) => rawLimit.some((figure) => figure.operationsPerTransaction === size));

/** A target for every size of transactions holds where the worst holds; the reason names them all. */
function worst(ratios: readonly Ratio[], what: string): Ratio {
  const measured = ratios.filter((ratio) => ratio.value !== null);
  if (measured.length === 0) return unmeasured(what);
  const value = Math.min(...measured.map((ratio) => ratio.value!));
  return { value, reason: measured.map((ratio) => `${short(ratio.value!)} (${ratio.reason})`).join('; ') };
}

interface Comparison {
  ours: (result: Result) => boolean;
  theirs: (result: Result) => boolean;
  what: string;
}

/** Our best over their best on the same work, both at once, at every size of transactions; the worst of these. */
function comparison({ results, rawLimit }: Figures, { ours, theirs, what }: Comparison): Ratio {
  const best = (who: (result: Result) => boolean, operations: number) =>
    results
      .filter(
        (result) =>
          result.phase === 'both at once' && result.operationsPerTransaction === operations && who(result),
      )
      .toSorted((a, b) => (b.dequeuePerSec ?? 0) - (a.dequeuePerSec ?? 0))[0];
  const ratios = sizesOf(rawLimit).map((operations) => {
    const their = best(theirs, operations);
    return over(best(ours, operations)?.dequeuePerSec, their?.dequeuePerSec ?? 0, {
      what,
      unit: `dequeues/s at ${operations} a transaction`,
      base: `of ${their?.driver} ${their?.durability}`,
    });
  });
  return worst(ratios, what);
}
