/** The top events of listen and of dequeue by subscriber side by side, as the document prints two reports. */
import { type DocumentTable, figureOf, numberParam, type Point, pointKey } from '@shardlab/contract';
import { activityOf } from './active-sessions.ts';
import { rowsByName } from './document-tables.ts';

export const methods = ['listen', 'subscriber'] as const;
export type Method = (typeof methods)[number];

export interface ReportedEvent {
  event: string;
  waits: number | null;
  seconds: number;
  /** Share of the sessions' non-idle time, 0 to 1. */
  share: number;
}

export interface MethodReport {
  method: Method;
  point: Point;
  /** Most time first. */
  events: ReportedEvent[];
  document: ReportedEvent[];
  messagesPerSec: number;
  coresBusy: number | null;
  /** Time in which the waits were counted, over all repeats. */
  measuredMs: number;
  /** Part of the dequeuers' time that the point explains, 0 to 1; null for a point without their time books. */
  accounted: number | null;
}

/** Two points that differ in the method only. */
export interface MethodReports {
  pairs: number;
  copies: number;
  reports: MethodReport[];
}

/**
 * Reports of the chosen point and its counterpart, or else of the pair with the most sessions; undefined if no two points differ
 * in the method only.
 */
export function methodReports(
  points: readonly Point[],
  chosen: Point,
  documentTable: DocumentTable | undefined,
): MethodReports | undefined {
  const groups = [
    ...Map.groupBy(points, ({ params }) => JSON.stringify({ ...params, method: undefined })).values(),
  ]
    .filter((group) => methods.every((method) => group.some(({ params }) => params.method === method)))
    .sort((a, b) => pairsOf(b) - pairsOf(a));
  const group =
    groups.find((each) => each.some((point) => pointKey(point) === pointKey(chosen))) ?? groups[0];
  if (group === undefined) return undefined;
  const of = (method: Method) => group.find(({ params }) => params.method === method)!;
  return {
    pairs: pairsOf(group),
    copies: numberParam(group[0]!.params, 'copies'),
    reports: methods.map((method) => reportOf(method, of(method), documentTable)),
  };
}

const pairsOf = (group: readonly Point[]): number => numberParam(group[0]!.params, 'pairs');

function reportOf(method: Method, point: Point, documentTable: DocumentTable | undefined): MethodReport {
  const { activities, sessions, coresBusy } = activityOf(point);
  return {
    method,
    point,
    events: activities.map(({ name, waits, totalMs, sessions: inIt }) => ({
      event: name,
      waits,
      seconds: totalMs / 1_000,
      share: sessions > 0 ? inIt / sessions : 0,
    })),
    document: (documentTable === undefined ? [] : rowsByName(documentTable))
      .filter((row) => row.method === method)
      .map((row) => ({
        event: String(row.event),
        waits: Number(row.waits),
        seconds: Number(row.seconds),
        share: Number(row.shareOfTime),
      })),
    messagesPerSec: figureOf(point, 'dequeuePerSec'),
    coresBusy,
    measuredMs: point.repeats.reduce((sum, repeat) => sum + repeat.measuredMs, 0),
    accounted: point.figures.timeAccounted === undefined ? null : figureOf(point, 'timeAccounted'),
  };
}
