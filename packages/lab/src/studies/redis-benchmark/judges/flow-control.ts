/** The judge of B4. */
import { figureOf, numberParam, type Point } from '@shardlab/contract';
import { inconclusive, isFaulty, type Judge } from '../../../judging/judgement.ts';
import { redisBenchmark } from '../document-figures.ts';
import { type Clause, clausesInWords, verdictOf } from './clauses.ts';

export const judgeB4: Judge = (all) => {
  const points = all.filter(
    ({ program, system, params }) =>
      program === 'flow-control' &&
      system.startsWith('buffered') &&
      numberParam(params, 'messages') > numberParam(params, 'messagesMax'),
  );
  if (points.length === 0)
    return inconclusive(
      'messages',
      'Needs points of a buffered queue to which more is offered than its threshold.',
    );
  const clauses = clausesOf(points);
  const atDefault = points.find(
    ({ params }) => numberParam(params, 'messagesMax') === redisBenchmark.flowControlThreshold,
  );
  return {
    verdict: verdictOf(clauses),
    value: figureOf(atDefault ?? points[0]!, 'accepted'),
    unit: 'messages accepted before the first refusal',
    interval: null,
    reason: `${clausesInWords(clauses)} ${points.map(countsInWords).join('; ')}. Every repeat must give these counts.`,
  };
};

function clausesOf(points: readonly Point[]): Clause[] {
  const clause = (words: string, isTrue: (point: Point) => boolean): Clause => ({
    verdict: points.every(isTrue) ? 'holds' : 'does-not-hold',
    words,
  });
  const always = ({ figures }: Point, name: string, value: number) =>
    figures[name]?.repeats.every((each) => each === value) ?? false;
  return [
    clause('accepts as many as its threshold and refuses the rest with ENQUEUE_RATE_TOO_HIGH', (point) => {
      const { messages, messagesMax } = countsOf(point);
      return always(point, 'accepted', messagesMax) && always(point, 'refused', messages - messagesMax);
    }),
    clause('delivers all that it accepted', (point) => {
      const { messagesMax } = countsOf(point);
      return always(point, 'delivered', messagesMax) && !isFaulty(point) && point.integrity.left === 0;
    }),
    clause('accepts again once it is empty', (point) => always(point, 'acceptedAfterDrain', 1)),
  ];
}

const countsOf = ({ params }: Point) => ({
  messages: numberParam(params, 'messages'),
  messagesMax: numberParam(params, 'messagesMax'),
});

function countsInWords(point: Point): string {
  const [accepted, refused, delivered] = ['accepted', 'refused', 'delivered'].map((name) =>
    figureOf(point, name).toLocaleString('en-US'),
  );
  const threshold = countsOf(point).messagesMax.toLocaleString('en-US');
  return `${point.system} with threshold ${threshold}: ${accepted} accepted, ${refused} refused, ${delivered} delivered, ${point.integrity.lost} lost`;
}
