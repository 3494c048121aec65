/** The judge of B4. Its values are exact counts, so that a single wrong one refutes. */
import { type ClaimClause, figureOf, type Point } from '@shardlab/contract';
import { clauseOf, failed, needs } from '../../../judging/clause.ts';
import { isFaulty, type Judge } from '../../../judging/judgement.ts';
import { provenanceOf } from '../../../judging/queue-points.ts';
import { combined, sampleOf } from '../../../judging/sample.ts';
import {
  type FlowControlParams,
  flowControlParamsOf,
} from '../../../programs/completion/completion-params.ts';

type Counted = 'accepted' | 'refused' | 'delivered' | 'acceptedAfterDrain';

interface Statement {
  statement: string;
  /** Messages by which the counts of a repeat differ from what the statement says. */
  off: (counts: Record<Counted, number>, params: FlowControlParams) => number;
}

const statements: readonly Statement[] = [
  {
    statement: 'accepts as many as its threshold and refuses the rest with ENQUEUE_RATE_TOO_HIGH',
    off: ({ accepted, refused }, { messages, messagesMax }) =>
      Math.abs(accepted - messagesMax) + Math.abs(refused - (messages - messagesMax)),
  },
  {
    statement: 'delivers all that it accepted',
    off: ({ accepted, delivered }) => Math.abs(accepted - delivered),
  },
  {
    statement: 'accepts again once it is empty',
    off: ({ acceptedAfterDrain }) => Math.abs(1 - acceptedAfterDrain),
  },
];

export const judgeB4: Judge = (all) => {
  const points = all.filter(({ program, system, params }) => {
    const { messages, messagesMax } = flowControlParamsOf(params);
    return program === 'flow-control' && system.startsWith('buffered') && messages > messagesMax;
  });
  if (points.length === 0)
    return needs('Needs points of a buffered queue to which more is offered than its threshold.');
  const clauses = statements.flatMap((each) => clausesOf(points, each));
  const isWhole = points.every((point) => !isFaulty(point) && point.integrity.left === 0);
  const fault = 'messages were lost, duplicated, damaged, out of order or left in the queue';
  return isWhole ? clauses : [...clauses, failed(clauses[0]!, fault)];
};

function clausesOf(points: readonly Point[], { statement, off }: Statement): ClaimClause[] {
  const wrong = points.map((point) =>
    sampleOf(countsOf(point).map((counts) => off(counts, flowControlParamsOf(point.params)))),
  );
  const clause = clauseOf({
    statement,
    unit: 'messages too many or too few',
    sample: combined(wrong, (values) => values.reduce((sum, value) => sum + value, 0)),
    under: 1,
    provenance: provenanceOf(points.flatMap(({ figures }) => figures.accepted ?? [])),
    numbers: `${points.map(countsInWords).join('; ')}.`,
    digits: 0,
  });
  const isOff = wrong.some(({ repeats }) => repeats.some((value) => value > 0));
  return isOff ? [clause, failed(clause, `not every repeat ${statement}`)] : [clause];
}

/** The counts of each repeat; one that is missing is not a number, and decides nothing. */
function countsOf({ figures }: Point): Record<Counted, number>[] {
  const count = (name: Counted, repeat: number) => figures[name]?.repeats[repeat] ?? Number.NaN;
  return (figures.accepted?.repeats ?? []).map((accepted, repeat) => ({
    accepted,
    refused: count('refused', repeat),
    delivered: count('delivered', repeat),
    acceptedAfterDrain: count('acceptedAfterDrain', repeat),
  }));
}

function countsInWords(point: Point): string {
  const [accepted, refused, delivered] = ['accepted', 'refused', 'delivered'].map((name) =>
    figureOf(point, name).toLocaleString('en-US'),
  );
  const threshold = flowControlParamsOf(point.params).messagesMax.toLocaleString('en-US');
  return `${point.system} with threshold ${threshold}: ${accepted} accepted, ${refused} refused, ${delivered} delivered, ${point.integrity.lost} lost`;
}
