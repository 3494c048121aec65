/** Judges of comparisons with other queues: rates (P8 to P10, P25) and latencies (P14, P15). */
import { type ClaimClause, numberParam, type Point } from '@shardlab/contract';
import { clauseOf, needs } from '../../../judging/clause.ts';
import type { Judge } from '../../../judging/judgement.ts';
import { figureSample } from '../../../judging/point-samples.ts';
import { ratioOf } from '../../../judging/sample.ts';
import { perSec } from '../../../programs/figures-in-words.ts';
import { openLoopParamsOf } from '../../../programs/load/load-params.ts';
import {
  bestOf,
  closedLoopPoints,
  ourRemote,
  serverPeers,
  syncedPlainjob,
  syncedServerPeers,
} from './load-points.ts';
import { targets } from './targets.ts';

interface Sides {
  ours: ReadonlySet<string>;
  theirs: ReadonlySet<string>;
  /** "against plainjob, synced" */
  words: string;
  /** A number where it is the same for every size of transactions, otherwise by that size; other sizes are not judged. */
  over: number | Readonly<Record<number, number>>;
}

interface Compared {
  schedule: 'at-once' | 'enqueue-then-dequeue';
  figure: 'dequeuePerSec' | 'enqueuePerSec';
}

const barOf = ({ over }: Sides, operations: number) => (typeof over === 'number' ? over : over[operations]);

/** Each side with the number of dequeuers that is best for it, at every size of transactions: all must reach the bar. */
const faster =
  ({ schedule, figure }: Compared, sides: Sides): Judge =>
  (all) => {
    const { ours, theirs, words } = sides;
    const points = closedLoopPoints(all, schedule);
    const sizes = [
      ...new Set(points.map(({ params }) => numberParam(params, 'operationsPerTransaction'))),
    ].toSorted((a, b) => a - b);
    const clauses = sizes.flatMap((operations): ClaimClause[] => {
      const ofSize = points.filter(({ params }) => params.operationsPerTransaction === operations);
      const highest = { figure, wanted: 'highest' } as const;
      const [own, other] = [bestOf(ofSize, ours, highest), bestOf(ofSize, theirs, highest)];
      const over = barOf(sides, operations);
      if (own === null || other === null || over === undefined) return [];
      return [
        clauseOf({
          statement: `with ${operations.toLocaleString('en-US')} a transaction`,
          unit: figure === 'dequeuePerSec' ? '× the dequeue rate' : '× the enqueue rate',
          sample: ratioOf(figureSample(own, figure), figureSample(other, figure)),
          over,
          provenance: 'measured',
          numbers: `${[own, other].map((point) => rateInWords(point, figure)).join(' over ')}.`,
        }),
      ];
    });
    return clauses.length > 0 ? clauses : needs(`Needs points of a closed loop ${words}.`);
  };

const rateInWords = ({ system, figures, params }: Point, figure: Compared['figure']) =>
  `${system} ${perSec(figures[figure]!.value)}${params.dequeuers === undefined ? '' : ` with ${params.dequeuers} dequeuers`}`;

const atOnce = { schedule: 'at-once', figure: 'dequeuePerSec' } as const;

export const judgeP8 = faster(atOnce, {
  ours: new Set(['unsharded']),
  theirs: syncedPlainjob,
  words: 'of the unsharded queue and of plainjob, synced',
  over: targets.unshardedOverPlainjob,
});
export const judgeP9 = faster(atOnce, {
  ours: ourRemote,
  theirs: syncedServerPeers,
  words: 'of the remote sharded queue and of servers that sync before they acknowledge',
  over: targets.overSyncedPeers,
});
export const judgeP10 = faster(atOnce, {
  ours: ourRemote,
  theirs: serverPeers,
  words: 'of the remote sharded queue and of servers',
  over: targets.overPeers,
});
export const judgeP25 = faster(
  { schedule: 'enqueue-then-dequeue', figure: 'enqueuePerSec' },
  {
    ours: ourRemote,
    theirs: syncedServerPeers,
    words:
      'with enqueues alone, of the remote sharded queue and of servers that sync before they acknowledge',
    over: targets.enqueuesOverSyncedPeers,
  },
);

/** Ours over the best of the peers that sync before they acknowledge, at a rate that all of them sustain. */
const quicker =
  (figure: 'latencyP50Ms' | 'latencyP99Ms', words: string): Judge =>
  (all) => {
    const points = all.filter(({ program, params }) => {
      const { messagesPerSec, operationsPerTransaction, emulatedSyncMs } = openLoopParamsOf(params);
      const isMeant = messagesPerSec !== undefined && operationsPerTransaction === 1 && emulatedSyncMs === 0;
      return program === 'open-loop' && isMeant;
    });
    const lowest = { figure, wanted: 'lowest' } as const;
    const [own, other] = [bestOf(points, ourRemote, lowest), bestOf(points, syncedServerPeers, lowest)];
    if (own === null || other === null)
      return needs(
        'Needs steady points of an open loop of the remote sharded queue and of a server that syncs before it acknowledges.',
      );
    const ms = (point: Point) => `${point.system} ${point.figures[figure]!.value.toFixed(2)} ms`;
    return [
      clauseOf({
        statement: `the ${words} is at most that of the best synced server`,
        unit: `× the ${words}`,
        sample: ratioOf(figureSample(own, figure), figureSample(other, figure)),
        under: targets.latency,
        provenance: 'measured',
        numbers: `${ms(own)} over ${ms(other)}, at ${numberParam(own.params, 'messagesPerSec')} messages/s.`,
      }),
    ];
  };

export const judgeP14 = quicker('latencyP50Ms', 'median latency');
export const judgeP15 = quicker('latencyP99Ms', '99th percentile of the latency');
