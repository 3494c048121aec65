/** Judges of what a message costs, and of queues and topics against each other: P6, P12 and P13. */
import { clauseOf, needs } from '../../../judging/clause.ts';
import { provenanceOf, type QueueJudge } from '../../../judging/queue-points.ts';
import { cpuUs, dequeues, enqueues, keepUpNoise } from '../../../judging/queue-samples.ts';
import { ratioOf } from '../../../judging/sample.ts';
import { targets } from './targets.ts';

const perMessage = (us: number) => `${us.toFixed(1)} µs`;

export const judgeP6: QueueJudge = (points) => {
  const ofSystem = (name: string) =>
    points.find(
      ({ system, params }) =>
        system === name && params.operationsPerTransaction === 10 && params.instances === 1,
    );
  const [unsharded, sharded] = [ofSystem('unsharded'), ofSystem('sharded')];
  if (unsharded === undefined || sharded === undefined)
    return needs(
      'Needs points of the sharded and the unsharded queue on one instance, with 10 operations per transaction.',
    );
  return [
    clauseOf({
      statement:
        'the unsharded queue, where each session commits for itself, uses more than four times the CPU',
      unit: '× the CPU per message of the sharded queue',
      sample: ratioOf(cpuUs(unsharded), cpuUs(sharded)),
      over: targets.unshardedCpu,
      provenance: provenanceOf([unsharded, sharded]),
      numbers: `${perMessage(unsharded.cpuUsPerMessage)} unsharded over ${perMessage(sharded.cpuUsPerMessage)} sharded.`,
    }),
  ];
};

/** Both halves of the loop do the same amount of work: dequeues do not live on an older backlog. */
export const judgeP12: QueueJudge = (points) => {
  const point = points.find(
    ({ system, params }) =>
      system === 'sharded' && params.operationsPerTransaction === 10 && params.instances === 2,
  );
  if (point === undefined)
    return needs('Needs a point of the sharded queue on two instances with 10 operations per transaction.');
  return [
    clauseOf({
      statement: 'enqueues are nearly as many as dequeues',
      unit: 'enqueues per dequeue',
      sample: ratioOf(enqueues(point), dequeues(point)),
      over: targets.enqueuesKeepUp,
      noise: keepUpNoise,
      provenance: point.provenance,
    }),
  ];
};

export const judgeP13: QueueJudge = (points) => {
  const ofSubscribers = (count: number) =>
    points.find(({ system, params }) => system === 'sharded' && params.subscribers === count);
  const [ten, one] = [ofSubscribers(10), ofSubscribers(1)];
  if (ten === undefined || one === undefined)
    return needs('Needs points of a sharded topic with 1 and with 10 subscribers.');
  return [
    clauseOf({
      statement: 'a delivery to one of ten subscribers costs less than a third',
      unit: '× the CPU per delivery to a single subscriber',
      sample: ratioOf(cpuUs(ten), cpuUs(one)),
      under: targets.topicCpu,
      provenance: provenanceOf([ten, one]),
      numbers: `${perMessage(ten.cpuUsPerMessage)} over ${perMessage(one.cpuUsPerMessage)}.`,
    }),
  ];
};
