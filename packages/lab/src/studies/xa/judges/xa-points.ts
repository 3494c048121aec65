/** The points of the study's program, and the values that judges read from them. */
import { figureOf, type Point } from '@shardlab/contract';
import { isEmulatedHardware, type XaParams, xaParamsOf } from '../../../programs/xa/xa-params.ts';

export interface XaPoint {
  point: Point;
  params: XaParams;
}

export const xaPoints = (points: readonly Point[]): XaPoint[] =>
  points
    .filter(({ program }) => program === 'xa')
    .map((point) => ({ point, params: xaParamsOf(point.params) }));

type Axis = keyof XaParams;

/** Points of one system that are equal in all parameters but these. */
export function linesBy(points: readonly XaPoint[], ...axes: readonly Axis[]): XaPoint[][] {
  const without = Object.fromEntries(axes.map((axis) => [axis, undefined]));
  const keyOf = ({ point: { system }, params }: XaPoint) =>
    JSON.stringify([system, { ...params, ...without }]);
  return [...Map.groupBy(points, keyOf).values()];
}

export const find = (line: readonly XaPoint[], wanted: Partial<XaParams>): XaPoint | undefined =>
  line.find(({ params }) => Object.entries(wanted).every(([name, value]) => params[name as Axis] === value));

const couplingInWords: Readonly<Record<XaParams['coupling'], string>> = {
  loose: 'loosely coupled',
  tight: 'tightly coupled',
  'tight-branches': 'tightly coupled from start to end',
};

/** "tightly coupled, embedded, emulated: a 1.2 ms round trip, 0.72 ms syncs of one redo device, a 4 ms interconnect" */
export function conditionOf({ point: { system }, params }: XaPoint): string {
  const { roundTripMs, syncMs, redo, interconnectMs, transaction, coupling, work } = params;
  const parts = [
    ...(roundTripMs > 0 ? [`a ${roundTripMs} ms round trip`] : []),
    ...(syncMs > 0
      ? [`${syncMs} ms syncs of ${redo === 'shared' ? 'one redo device' : 'a redo device each'}`]
      : []),
    ...(interconnectMs > 0 ? [`a ${interconnectMs} ms interconnect`] : []),
  ];
  const place = [
    ...(transaction === 'two-branches' ? [couplingInWords[coupling]] : []),
    ...(work === 'dequeue' ? ['dequeues'] : work === 'insert' ? ['rows and messages'] : []),
    system === 'xa-remote' ? 'remote' : 'embedded',
  ].join(', ');
  return isEmulatedHardware(params) ? `${place}, emulated: ${parts.join(', ')}` : `${place}, as it is`;
}

export const perMessageInWords = ({ point }: XaPoint) =>
  `${figureOf(point, 'elapsedMsPerMessage').toPrecision(3)} ms a message`;
