/** The ratios that targets refer to. Rates alone would not be comparable between machines; ratios of the same run are. */
import { names } from '../plan/trials.ts';
import type { RawMeasurement, Result } from './results.ts';

export interface Ratio {
  /** Null if not measured; `reason` then says why. */
  value: number | null;
  reason: string;
}

export interface BenchFigures {
  rawLimit: readonly RawMeasurement[];
  results: readonly Result[];
  /** The compared backlogs. */
  standing: { small: number; large: number };
}

const whole = (value: number) => Math.round(value).toLocaleString('en');
const short = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 3 });
const unmeasured = (subject: string): Ratio => ({ value: null, reason: `${subject}: not measured` });

type Phase = Result['phase'];

export function ratiosOf(figures: BenchFigures) {
  const { rawLimit, results, standing } = figures;
  const find = (trial: string, phase: Phase = 'both at once') =>
    results.find((result) => result.trial === trial && result.phase === phase);
  const raw = (cycle: RawMeasurement['cycle'], operations: number) =>
    Math.max(
      0,
      ...rawLimit
        .filter((figure) => figure.cycle === cycle && figure.operationsPerTransaction === operations)
        .map((figure) => figure.rowsPerSec.median),
    );
  const ofR = (trial: string) =>
    ratioBetween(find(trial)?.dequeuePerSec, raw('insert', 1_000), {
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
    single1: ratioBetween(single?.enqueuePerSec, raw('insert', 1), {
      what: names.single1,
      unit: 'commits/s',
      base: 'raw',
    }),
    topic10: ratioBetween(find(names.topic10)?.dequeuePerSec, raw('insert', 1_000), {
      what: names.topic10,
      unit: 'deliveries/s',
      base: 'rows/s (R)',
    }),
    cpuUnshardedOverSharded: ratioBetween(cpuUnsharded?.cpuUsPerMessage, cpuSharded?.cpuUsPerMessage ?? 0, {
      what: 'CPU per message',
      unit: 'µs unsharded',
      base: 'sharded',
    }),
    unshardedOverRawCycle: worst(
      sizesOf(rawLimit).map((operations) =>
        ratioBetween(
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
      ours: isOurRemote,
      theirs: (result) => isServerPeer(result) && result.synced,
      what: 'our remote sessions against servers that sync before they acknowledge',
    }),
    overBestPeer: comparison(figures, {
      ours: isOurRemote,
      theirs: isServerPeer,
      what: 'our remote sessions against servers at any durability',
    }),
    backlog: ratioBetween(large?.dequeuePerSec, small?.dequeuePerSec ?? 0, {
      what: `a standing backlog of ${whole(standing.large)}`,
      unit: 'dequeues/s',
      base: `with ${whole(standing.small)}`,
    }),
  } satisfies Record<string, Ratio>;
}

export type RatioName = keyof ReturnType<typeof ratiosOf>;

const isOurRemote = ({ driver, placement }: Result) => driver === 'sharded' && placement === 'remote';
const isServerPeer = ({ driver, placement }: Result) => driver !== 'sharded' && placement === 'remote';

/** The quotient, if both were measured. `unit` names the first figure and `base` the second. */
function ratioBetween(
  value: number | null | undefined,
  base: number,
  words: { what: string; unit: string; base: string },
): Ratio {
  if (value === null || value === undefined) return unmeasured(words.what);
  if (!(base > 0)) return unmeasured(words.base);
  const figure = (each: number) => (each < 1_000 ? short(each) : whole(each));
  return { value: value / base, reason: `${figure(value)} ${words.unit} over ${figure(base)} ${words.base}` };
}

/** Transaction sizes at which both the queues and the raw cycle were measured. */
const sizesOf = (rawLimit: readonly RawMeasurement[]) =>
  [1, 10, 1_000].filter((size) => rawLimit.some((figure) => figure.operationsPerTransaction === size));

/** A target for all transaction sizes is met if the worst ratio meets it; the reason lists all of them. */
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

/** Our best ÷ the peers' best with enqueue and dequeue at once, at every transaction size; the worst of these ratios. */
function comparison({ results, rawLimit }: BenchFigures, { ours, theirs, what }: Comparison): Ratio {
  const best = (who: (result: Result) => boolean, operations: number) =>
    results
      .filter(
        (result) =>
          result.phase === 'both at once' && result.operationsPerTransaction === operations && who(result),
      )
      .toSorted((a, b) => (b.dequeuePerSec ?? 0) - (a.dequeuePerSec ?? 0))[0];
  const ratios = sizesOf(rawLimit).map((operations) => {
    const their = best(theirs, operations);
    return ratioBetween(best(ours, operations)?.dequeuePerSec, their?.dequeuePerSec ?? 0, {
      what,
      unit: `dequeues/s at ${operations} per transaction`,
      base: `of ${their?.driver} ${their?.durability}`,
    });
  });
  return worst(ratios, what);
}
