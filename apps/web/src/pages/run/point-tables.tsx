import { type Point, type PointParams, pointKey } from '@shardlab/contract';
import type { ReactNode } from 'react';
import {
  formatCores,
  formatCount,
  formatMicros,
  formatMs,
  formatRate,
  formatValue,
} from '../../model/format.ts';
import { topWaits } from '../../model/top-waits.ts';
import { ScrollX } from '../../parts/scroll-x.tsx';

interface Column {
  name: string;
  cell(point: Point): ReactNode;
  isText?: boolean;
}

const identity: readonly Column[] = [
  { name: 'Queue', cell: (point) => point.implementation, isText: true },
  { name: 'Instances', cell: (point) => point.params.instances },
  { name: 'Threads', cell: (point) => point.params.threads },
  {
    name: 'Round trip',
    cell: ({ params }) => (params.roundTripMs === 0 ? 'none' : formatMs(params.roundTripMs)),
  },
];

/** Further parameters of a point. A column is shown if the points differ in it. */
const otherParamColumns: readonly Column[] = (
  [
    ['Operations', 'operationsPerTransaction'],
    ['Payload bytes', 'payloadBytes'],
    ['Subscribers', 'subscribers'],
    ['Backlog', 'backlog'],
    ['Durability', 'durability'],
    ['Cache MiB', 'cacheMiB'],
    ['Rows', 'rows'],
    ['Dequeuers', 'dequeuers'],
  ] satisfies [string, keyof PointParams][]
).map(([name, id]) => ({
  name,
  isText: id === 'durability' || id === 'rows' || id === 'dequeuers',
  cell: ({ params }) => {
    const value = params[id];
    return typeof value === 'number' ? formatCount(value) : value;
  },
}));

const pointColumns: readonly Column[] = [
  { name: 'Enqueue', cell: (point) => formatRate(point.enqueuePerSec) },
  { name: 'Dequeue', cell: (point) => formatRate(point.dequeuePerSec) },
  { name: 'Latency p50', cell: (point) => formatMs(point.latencyMs.p50) },
  { name: 'p99', cell: (point) => formatMs(point.latencyMs.p99) },
  { name: 'max', cell: (point) => formatMs(point.latencyMs.max) },
  { name: 'Dequeue call p99', cell: (point) => formatMs(point.dequeueCallMs.p99) },
  { name: 'CPU per message', cell: (point) => formatMicros(point.cpuUsPerMessage) },
  {
    name: 'CPU, all instances',
    cell: (point) => formatCores(point.cpuShareByInstance.reduce((sum, cores) => sum + cores, 0)),
  },
  { name: 'Repeats', cell: (point) => point.repeats.length },
  { name: 'Provenance', cell: (point) => point.provenance, isText: true },
];

const integrityColumns: readonly Column[] = [
  { name: 'Deliveries timed', cell: (point) => formatCount(point.latencyMs.count) },
  { name: 'Lost', cell: (point) => formatCount(point.integrity.lost) },
  { name: 'Duplicated', cell: (point) => formatCount(point.integrity.duplicated) },
  { name: 'Damaged', cell: (point) => formatCount(point.integrity.damaged) },
  { name: 'Out of order', cell: (point) => formatCount(point.integrity.outOfOrder) },
  { name: 'Left after drain', cell: (point) => formatCount(point.integrity.left) },
];

export function PointsTable({ points, selected }: { points: readonly Point[]; selected: string | null }) {
  return <PointTable points={points} columns={pointColumns} selected={selected} label="Points" />;
}

/** Integrity counts over whole points, including warm-up and drain. All except the last column should be zero. */
export function IntegrityTable({ points }: { points: readonly Point[] }) {
  return <PointTable points={points} columns={integrityColumns} selected={null} label="Integrity" />;
}

function PointTable(props: {
  points: readonly Point[];
  columns: readonly Column[];
  selected: string | null;
  label: string;
}) {
  const { points, selected, label } = props;
  const varied = otherParamColumns.filter(({ cell }) => new Set(points.map(cell)).size > 1);
  const columns = [...identity, ...varied, ...props.columns];
  if (points.length === 0) return <p className="empty">No points yet.</p>;
  return (
    <ScrollX label={label}>
      <table className="table">
        <thead>
          <tr>
            {columns.map(({ name, isText }) => (
              <th key={name} scope="col" className={isText ? undefined : 'number'}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {points.map((point) => {
            const key = pointKey(point);
            return (
              <tr key={key} data-selected={key === selected ? '' : undefined}>
                {columns.map(({ name, cell, isText }) => (
                  <td key={name} className={isText ? undefined : 'number'}>
                    {cell(point)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollX>
  );
}

/** The wait events of each implementation, ranked by total time. */
export function WaitsTable({ points }: { points: readonly Point[] }) {
  const waits = topWaits(points);
  if (waits.length === 0) return <p className="empty">No waits recorded yet.</p>;
  return (
    <ScrollX label="Top waits">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Queue</th>
            <th scope="col">Wait event</th>
            <th scope="col">Class</th>
            <th scope="col" className="number">
              Waits
            </th>
            <th scope="col" className="number">
              Total time
            </th>
            <th scope="col" className="number">
              Mean
            </th>
            <th scope="col" className="number">
              Highest p99 of any point
            </th>
            <th scope="col" className="number">
              Share of wait time without idle
            </th>
          </tr>
        </thead>
        <tbody>
          {waits.map((wait) => (
            <tr key={`${wait.implementation}/${wait.event}`}>
              <td>{wait.implementation}</td>
              <td>
                {wait.event} {wait.emulated ? <span className="tag">emulated</span> : null}
              </td>
              <td>{wait.class}</td>
              <td className="number">{formatCount(wait.waits)}</td>
              <td className="number">{formatMs(wait.totalMs)}</td>
              <td className="number">{formatMs(wait.totalMs / wait.waits)}</td>
              <td className="number">{formatMs(wait.p99MsMax)}</td>
              <td className="number">{wait.share === null ? '–' : `${formatValue(wait.share * 100)} %`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}
