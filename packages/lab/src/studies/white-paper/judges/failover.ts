/** Claim W7: the effect of a killed instance on service and messages. */
import type { FaultOutcome } from '@shardlab/contract';
import { median } from '@shardlab/model';
import { clauseOf, failed, fixed, needs } from '../../../judging/clause.ts';
import { isFaulty } from '../../../judging/judgement.ts';
import { provenanceOf, type QueueJudge, sharded } from '../../../judging/queue-points.ts';
import { sampleOf } from '../../../judging/sample.ts';
import { perSec, plural } from '../../../programs/figures-in-words.ts';
import type { QueuePoint } from '../../../programs/queue/points/queue-point.ts';

/** A survivor must serve a killed instance within this time: the lease of a second, and another second for recovery. */
const serviceMsMax = 2_000;

export const judgeW7: QueueJudge = (points) => {
  const withKills = sharded(points).filter((point) => killsOf(point).length > 0);
  const kills = withKills.flatMap(killsOf);
  if (kills.length === 0) return needs('Needs sharded points with a killed instance.');
  const times = kills.flatMap(({ outageMs }) => outageMs ?? []);
  const rate = (read: (kill: FaultOutcome) => number) => perSec(median(kills.map(read)));
  const longest = times.length === 0 ? '' : ` The longest outage is ${fixed(Math.max(...times), 0)} ms.`;
  const clause = clauseOf({
    statement: 'a survivor serves a killed instance soon',
    unit: 'ms outage after a kill',
    sample: sampleOf(times),
    under: serviceMsMax,
    digits: 0,
    provenance: provenanceOf(withKills),
    numbers: `${plural(kills.length, 'instance')} killed at full load.${longest} All instances together dequeue ${rate((kill) => kill.dequeuePerSec.before)} before, ${rate((kill) => kill.dequeuePerSec.during)} during the outage, and ${rate((kill) => kill.dequeuePerSec.after)} after it with one process less.`,
  });
  const faults = [
    ...(withKills.some(isFaulty) ? ['messages were lost, duplicated, damaged or out of order'] : []),
    ...(times.length < kills.length
      ? [`${kills.length - times.length} of ${kills.length} instances were never served again`]
      : []),
    ...(times.some((ms) => ms > serviceMsMax) ? [`an outage lasted longer than ${serviceMsMax} ms`] : []),
  ];
  return [clause, ...faults.map((fault) => failed(clause, fault))];
};

const killsOf = (point: QueuePoint): FaultOutcome[] =>
  point.repeats.flatMap(({ faults = [] }) => faults.filter(({ kind }) => kind === 'kill'));
