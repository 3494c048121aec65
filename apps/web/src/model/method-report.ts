/** The top events of listen and of dequeue by subscriber side by side, as the document prints two reports. */
import { type DocumentTable, figureOf, numberParam, type Point } from '@shardlab/contract';
import { activityOf } from './active-sessions.ts';
import { rowsByName } from './document-tables.ts';

export const methods = ['listen', 'subscriber'] as const;
export type Method = (typeof methods)[number];

export interface ReportedEvent {
  event: string;
  waits: number | null;
  seconds: number;
  /** Of the time of the sessions that is not idle, 0 to 1. */
  share: number;
}

export interface MethodReport {
  method: Method;
  point: Point;
  /** Most time first. */
  events: ReportedEvent[];
  document: ReportedEvent[];
  messagesPerSec: number;
  coresBusy: number;
}

/** The pairs of points that differ in the method only, one entry for each number of pairs; most pairs first. */
export function methodReports(
  points: readonly Point[],
  documentTable: DocumentTable | undefined,
): { pairs: number; reports: MethodReport[] }[] {
  const groups = Map.groupBy(points, ({ params }) => JSON.stringify({ ...params, method: undefined }));
  return [...groups.values()]
    .flatMap((group) => {
      const reports = methods.flatMap((method) => {
        const point = group.find(({ params }) => params.method === method);
        return point === undefined ? [] : [reportOf(method, point, documentTable)];
      });
      return reports.length === methods.length
        ? [{ pairs: numberParam(group[0]!.params, 'pairs'), reports }]
        : [];
    })
    .sort((a, b) => b.pairs - a.pairs);
}

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
  };
}
