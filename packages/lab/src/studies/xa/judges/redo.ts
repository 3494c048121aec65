/** Judges of the claims about the redo device: X1 and X2. */
import { figureOf } from '@shardlab/contract';
import { clauseOf, fixed, needs } from '../../../judging/clause.ts';
import type { Judge } from '../../../judging/judgement.ts';
import { figureSample, provenanceOfPoints } from '../../../judging/point-samples.ts';
import { ratioOf } from '../../../judging/sample.ts';
import { perInsertS, waitOf, xaDocument } from '../document/document-figures.ts';
import { conditionOf, find, linesBy, perMessageInWords, type XaPoint, xaPoints } from './xa-points.ts';

const { C1, C2, C3 } = xaDocument;
const documentScaling = perInsertS(C1) / perInsertS(C2);
/** Gain that a second instance must show with its own device. The bar is ours. */
const ownDeviceGain = 1.1;

const local = (points: readonly XaPoint[]) => points.filter(({ params }) => params.transaction === 'local');
const rate = ({ point }: XaPoint) => figureSample(point, 'messagesPerSec');

export const judgeX1: Judge = (all) => {
  const points = local(xaPoints(all));
  const pairs = linesBy(points, 'sessions', 'instances').flatMap((line) => {
    const one = find(line, { sessions: 1, instances: 1 });
    const two = find(line, { sessions: 2, instances: 2 });
    return one === undefined || two === undefined || one.params.redo === 'own' ? [] : [{ one, two }];
  });
  const clauses = pairs.flatMap(({ one, two }) => {
    const facts = { condition: conditionOf(two), provenance: provenanceOfPoints([one.point, two.point]) };
    const own = points.find(
      ({ point, params }) =>
        point.system === two.point.system &&
        params.redo === 'own' &&
        JSON.stringify({ ...params, redo: 'shared' }) === JSON.stringify(two.params),
    );
    return [
      clauseOf({
        ...facts,
        statement: 'two sessions on two instances do less than twice what one does',
        unit: '× the rate of one session',
        sample: ratioOf(rate(two), rate(one)),
        under: 2,
        numbers: `${perMessageInWords(one)} with one session, ${perMessageInWords(two)} with two. In the document ${documentScaling.toFixed(2)} ×.`,
      }),
      clauseOf({
        ...facts,
        statement: 'each of two waits longer for a log file sync than one alone',
        unit: '× the wait of one session',
        sample: ratioOf(figureSample(two.point, 'syncMsPerWait'), figureSample(one.point, 'syncMsPerWait')),
        over: 1,
        numbers: `${figureOf(one.point, 'syncMsPerWait').toPrecision(3)} ms alone, ${figureOf(two.point, 'syncMsPerWait').toPrecision(3)} ms with another. In the document ${(1_000 * meanSyncS(C1)).toFixed(1)} and ${(1_000 * meanSyncS(C2)).toFixed(1)} ms.`,
      }),
      ...(own === undefined || one.params.syncMs === 0
        ? []
        : [
            clauseOf({
              ...facts,
              statement: 'with a redo device each, two do more',
              unit: '× the rate with one device',
              sample: ratioOf(rate(own), rate(two)),
              over: ownDeviceGain,
              provenance: provenanceOfPoints([own.point, two.point]),
              numbers: `${perMessageInWords(own)} with a device each. The document names the cause and did not try it; the bar is ours.`,
            }),
          ]),
    ];
  });
  return clauses.length > 0
    ? clauses
    : needs('Needs points of local transactions with one session on one instance, and with two on two.');
};

/** How much slower the slow device of the document is. */
const documentGain = perInsertS(C2) / perInsertS(C3);
const meanSyncS = (run: typeof C2) =>
  waitOf(run, 'log file sync').totalS / waitOf(run, 'log file sync').waits;
const documentSyncGain = meanSyncS(C2) / meanSyncS(C3);
const band = { from: fixed(documentGain / 2), to: fixed(documentGain * 2) };
/** Devices that differ by less are not the document's. */
const deviceRatioMin = 10;

export const judgeX2: Judge = (all) => {
  const points = local(xaPoints(all)).filter(({ params }) => params.sessions === 2 && params.instances === 2);
  const clauses = linesBy(points, 'syncMs', 'syncTimes').flatMap((line) => {
    const sorted = line.toSorted((a, b) => a.params.syncMs - b.params.syncMs);
    const [fast, slow] = [sorted[0]!, sorted.at(-1)!];
    if (fast.params.syncMs === 0 || slow.params.syncMs < deviceRatioMin * fast.params.syncMs) return [];
    return [
      clauseOf({
        condition: conditionOf(slow),
        statement: `syncs of ${fast.params.syncMs} instead of ${slow.params.syncMs} ms cut the elapsed time as in the document`,
        unit: '× the elapsed time',
        sample: ratioOf(
          figureSample(slow.point, 'elapsedMsPerMessage'),
          figureSample(fast.point, 'elapsedMsPerMessage'),
        ),
        over: band.from,
        under: band.to,
        digits: 1,
        provenance: provenanceOfPoints([fast.point, slow.point]),
        numbers: `${perMessageInWords(slow)} and ${perMessageInWords(fast)}. In the document ${C2.elapsedS} and ${C3.elapsedS} s for ${C2.inserts} inserts, ${documentGain.toFixed(1)} ×; half and double of that are our bars.`,
      }),
      clauseOf({
        condition: conditionOf(slow),
        statement: 'because the waits for a log file sync are shorter',
        unit: '× the wait',
        sample: ratioOf(figureSample(slow.point, 'syncMsPerWait'), figureSample(fast.point, 'syncMsPerWait')),
        over: band.from,
        digits: 1,
        provenance: provenanceOfPoints([fast.point, slow.point]),
        numbers: `In the document ${documentSyncGain.toFixed(0)} ×; the bar is ours.`,
      }),
    ];
  });
  return clauses.length > 0
    ? clauses
    : needs(
        'Needs points of two sessions on two instances with a slow redo device and one that is at least ten times as fast: both emulated, since this machine has one disk.',
      );
};
