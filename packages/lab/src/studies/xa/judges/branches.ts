/** Judges of the claims about branches: X3 to X7. */
import { type ClaimClause, figureOf } from '@shardlab/contract';
import { clauseOf, clauseWithout, fixed, needs } from '../../../judging/clause.ts';
import { exactClauses } from '../../../judging/exact-counts.ts';
import type { Judge } from '../../../judging/judgement.ts';
import { figureSample, provenanceOfPoints } from '../../../judging/point-samples.ts';
import { combined, ratioOf } from '../../../judging/sample.ts';
import { xaFigures } from '../../../programs/xa/xa-figures.ts';
import {
  dfsWaitsOfTen,
  perInsertS,
  roundTripsOfXa,
  waitOf,
  xaDocument,
} from '../document/document-figures.ts';
import { conditionOf, find, linesBy, perMessageInWords, type XaPoint, xaPoints } from './xa-points.ts';

const { C3, C4, C5, C6 } = xaDocument;
const elapsed = ({ point }: XaPoint) => figureSample(point, 'elapsedMsPerMessage');
const provenance = (...points: readonly XaPoint[]) => provenanceOfPoints(points.map(({ point }) => point));

const twoBranches = (points: readonly XaPoint[]) =>
  points.filter(({ params }) => params.transaction === 'two-branches');

/** Half and double of what the document's ratio adds are our bars. */
function elapsedClause(
  [more, less]: readonly [XaPoint, XaPoint],
  document: number,
  statement: string,
): ClaimClause {
  return clauseOf({
    condition: conditionOf(more),
    statement,
    unit: '× the elapsed time',
    sample: ratioOf(elapsed(more), elapsed(less)),
    over: fixed(1 + (document - 1) / 2),
    under: fixed(1 + (document - 1) * 2),
    provenance: provenance(more, less),
    numbers: `${perMessageInWords(less)}, then ${perMessageInWords(more)}. In the document ${document.toFixed(2)} ×; the bars are ours.`,
  });
}

export const judgeX3: Judge = (all) => {
  const points = xaPoints(all).filter(
    ({ params }) => params.sessions === 2 && params.transaction !== 'one-branch',
  );
  const clauses = linesBy(points, 'transaction', 'instances', 'coupling').flatMap((line) => {
    const local = find(line, { transaction: 'local', instances: 2 });
    if (local === undefined) return [];
    return (
      line
        .filter(({ params }) => params.transaction === 'two-branches' && params.instances === 1)
        // The document's lock is held during calls: two branches are under way at once.
        .filter(({ params }) => params.coupling !== 'tight-branches')
        .flatMap((xa) => [
          elapsedClause(
            [xa, local],
            perInsertS(C4) / perInsertS(C3),
            'XA on one instance about halves the rate',
          ),
          clauseOf({
            condition: conditionOf(xa),
            statement: 'the calls for a message more than double',
            unit: '× the calls',
            // Of a transaction with two branches, which has two messages.
            sample: combined(
              [
                figureSample(xa.point, 'callsPerTransaction'),
                figureSample(local.point, 'callsPerTransaction'),
              ],
              ([ofXa, ofLocal]) => ofXa! / 2 / ofLocal!,
            ),
            over: 2,
            noise: 0.01,
            provenance: provenance(xa, local),
            numbers: `${figureOf(xa.point, 'callsPerTransaction')} calls for two messages, ${figureOf(local.point, 'callsPerTransaction')} for one.`,
          }),
        ])
    );
  });
  return clauses.length > 0
    ? clauses
    : needs('Needs points of local transactions on two instances, and of two branches on one instance.');
};

/** The document's time in waits for the DFS lock handle rises 32 times; it calls that dramatic. */
const lockRise = 10;
/** Maximum cost of a lock without a message to another instance, milliseconds per transaction. */
const lockNoiseMs = 0.1;
const lockInWords = ({ point }: XaPoint) =>
  `${figureOf(point, 'lockMsPerTransaction').toPrecision(3)} ms in ${figureOf(point, 'lockWaitsPerTransaction').toPrecision(2)} waits`;

export const judgeX4: Judge = (all) => {
  const points = twoBranches(xaPoints(all)).filter(({ params }) => params.preparedBy === 'own');
  const clauses = linesBy(points, 'instances').flatMap((line) => {
    const [one, two] = [find(line, { instances: 1 }), find(line, { instances: 2 })];
    if (one === undefined || two === undefined) return [];
    if (two.params.coupling === 'loose') {
      return [
        clauseWithout('not-comparable', {
          condition: conditionOf(two),
          statement: 'loosely coupled branches on two instances',
          reason: `These branches are loosely coupled: there is no lock over instances to wait for. ${perMessageInWords(one)} on one instance, ${perMessageInWords(two)} on two.`,
        }),
      ];
    }
    if (two.params.coupling === 'tight-branches') {
      return [
        clauseWithout('not-comparable', {
          condition: conditionOf(two),
          statement: 'a lock from start to end',
          reason: `Who waits for this lock waits for all calls of the other branch and for the program between them, on one instance as on two: ${lockInWords(one)} and ${lockInWords(two)} a transaction. The document's is held during calls.`,
        }),
      ];
    }
    const rise = perInsertS(C5) / perInsertS(C4);
    const lock = ({ point }: XaPoint) => figureSample(point, 'lockMsPerTransaction');
    return [
      elapsedClause([two, one], rise, 'branches on two instances cut the rate to about a third'),
      clauseOf({
        condition: conditionOf(two),
        statement: `the time in waits for the lock is more than ${lockRise} times that on one instance`,
        unit: `ms per transaction beyond ${lockRise} times the time on one instance`,
        sample: combined([lock(two), lock(one)], ([ofTwo, ofOne]) => ofTwo! - lockRise * ofOne!),
        over: 0,
        noise: lockNoiseMs,
        provenance: provenance(one, two),
        numbers: `${lockInWords(one)} a transaction on one instance, ${lockInWords(two)} on two. In the document ${waitOf(C4, 'DFS lock handle').totalS} and ${waitOf(C5, 'DFS lock handle').totalS} s of one session in 1,000 transactions; of ten transactions ${dfsWaitsOfTen['one instance'].length} and ${dfsWaitsOfTen['two instances'].length} waits.`,
      }),
    ];
  });
  return clauses.length > 0
    ? clauses
    : needs('Needs points of two branches on one instance and on two, equal in all else.');
};

/** The document's ratio is 1.11; the bars are ours. */
const crossing = { from: 1.04, to: 1.35 };

export const judgeX5: Judge = (all) => {
  const points = twoBranches(xaPoints(all)).filter(({ params }) => params.instances === 2);
  const clauses = linesBy(points, 'preparedBy').flatMap((line) => {
    const [own, other] = [find(line, { preparedBy: 'own' }), find(line, { preparedBy: 'other' })];
    if (own === undefined || other === undefined) return [];
    const sample = ratioOf(elapsed(other), elapsed(own));
    if (figureOf(other.point, 'preparesPassedOn') === 0) {
      return [
        clauseWithout('not-comparable', {
          condition: conditionOf(other),
          statement: 'prepares on the other instance',
          reason: `Each instance has a folder of its own here, so that no prepare goes from one to the other: the other session connects to the instance of the branch. Measured ${sample.value.toFixed(2)} × the elapsed time.`,
        }),
      ];
    }
    return [
      clauseOf({
        condition: conditionOf(other),
        statement: 'preparing on the other instance costs about 10 % more',
        unit: '× the elapsed time',
        sample,
        over: crossing.from,
        under: crossing.to,
        noise: 0.02,
        provenance: provenance(own, other),
        numbers: `${perMessageInWords(own)}, then ${perMessageInWords(other)}. In the document ${(perInsertS(C6) / perInsertS(C5)).toFixed(2)} ×; the bars are ours.`,
      }),
      ...exactClauses([other.point], {
        statement: 'both prepares of a transaction are passed on from one instance to the other',
        expected: { preparesPassedOn: 2 },
        figures: xaFigures,
      }),
      ...exactClauses([own.point], {
        statement: 'none is where each session prepares its own',
        expected: { preparesPassedOn: 0 },
        figures: xaFigures,
      }),
    ];
  });
  return clauses.length > 0
    ? clauses
    : needs('Needs points of two branches on two instances, prepared by their own and by the other session.');
};

/** Whether all of a transaction's work is in one file, as in the document's shared database. */
const hasOneHome = ({ params: { instances, coupling, work } }: XaPoint) =>
  instances === 1 || (coupling !== 'loose' && work !== 'dequeue');

export const judgeX6: Judge = (all) => {
  const points = twoBranches(xaPoints(all));
  const atHome = points.filter(hasOneHome).map(({ point }) => point);
  const counted = atHome.filter(
    (point) => 'roundTripsPerTransaction' in point.figures && point.system === 'xa-remote',
  );
  const apart = points.filter((point) => !hasOneHome(point));
  const clauses = [
    ...exactClauses(atHome, {
      statement: `${roundTripsOfXa} calls for a transaction whose work is at one home instance`,
      expected: { callsPerTransaction: roundTripsOfXa },
      figures: xaFigures,
    }),
    ...exactClauses(counted, {
      statement: `${roundTripsOfXa} requests left the client for each transaction`,
      expected: { roundTripsPerTransaction: roundTripsOfXa },
      figures: xaFigures,
    }),
    ...apart.map((point) =>
      clauseWithout('not-comparable', {
        condition: conditionOf(point),
        statement: 'work in two files',
        reason: `Each instance has a file of its own, where the document has one database, so both branches are prepared and committed: ${figureOf(point.point, 'callsPerTransaction')} calls${'roundTripsPerTransaction' in point.point.figures ? `, ${figureOf(point.point, 'roundTripsPerTransaction')} round trips` : ''}.`,
      }),
    ),
  ];
  return atHome.length > 0
    ? clauses
    : [...clauses, ...needs('Needs points of two branches whose work is at one instance.')];
};

/** Share of the transactions whose branches are active together where nothing keeps them from it: the bar is ours. */
const togetherMin = 0.5;

export const judgeX7: Judge = (all) => {
  const points = twoBranches(xaPoints(all));
  const tight = points.filter(({ params }) => params.coupling === 'tight-branches').map(({ point }) => point);
  const loose = points.filter(({ params }) => params.coupling === 'loose');
  const clauses = [
    ...exactClauses(tight, {
      statement: 'never two tightly coupled branches active at the same time',
      expected: { activeTogetherShare: 0 },
      figures: xaFigures,
    }),
    ...loose.map((point) =>
      clauseOf({
        condition: conditionOf(point),
        statement: 'loosely coupled branches are, so the client does not prevent it',
        unit: 'of the transactions',
        sample: figureSample(point.point, 'activeTogetherShare'),
        over: togetherMin,
        noise: 0.1,
        provenance: provenance(point),
      }),
    ),
  ];
  return tight.length > 0 && loose.length > 0
    ? clauses
    : needs(
        'Needs points of tightly coupled branches with a lock from start to end, and of loosely coupled ones.',
      );
};
