import {
  coresBusyOf,
  distributionOf,
  type Point,
  type ProgramInfo,
  pointKey,
  provenanceOf,
} from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { waitsQuery } from '../../api/queries.ts';
import { formatCores, formatCount, formatMs, formatValue } from '../../model/format.ts';
import { type Metric, metricsOf } from '../../model/point-metrics.ts';
import { systemInWords } from '../../model/system-words.ts';
import { topWaits } from '../../model/top-waits.ts';
import { ScrollX } from '../../parts/scroll-x.tsx';

interface Column {
  name: string;
  cell(point: Point): ReactNode;
  isText?: boolean;
}

/** The system, then each parameter in which the points differ. */
function identityColumns({ parameters }: ProgramInfo, points: readonly Point[]): Column[] {
  const varied = parameters.filter(({ name }) => new Set(points.map(({ params }) => params[name])).size > 1);
  return [
    { name: 'System', cell: (point) => systemInWords(point.system), isText: true },
    ...varied.map(
      ({ name, over, names }): Column => ({
        name: headingOf(over),
        isText: names !== undefined,
        cell: ({ params }) => {
          const value = params[name];
          return typeof value === 'number' ? formatCount(value) : (names?.[value ?? ''] ?? value);
        },
      }),
    ),
  ];
}

/** "the payload size" as the heading "Payload size" */
function headingOf(over: string): string {
  const bare = over.replace(/^the /, '');
  return bare.charAt(0).toUpperCase() + bare.slice(1);
}

const cpuColumn: Column = {
  name: 'CPU, all instances',
  cell: (point) => formatCores(coresBusyOf(point)),
};

const integrityColumns: readonly Column[] = [
  { name: 'Deliveries timed', cell: (point) => formatCount(distributionOf(point, 'latency').count) },
  { name: 'Lost', cell: (point) => formatCount(point.integrity.lost) },
  { name: 'Duplicated', cell: (point) => formatCount(point.integrity.duplicated) },
  { name: 'Damaged', cell: (point) => formatCount(point.integrity.damaged) },
  { name: 'Out of order', cell: (point) => formatCount(point.integrity.outOfOrder) },
  { name: 'Left after drain', cell: (point) => formatCount(point.integrity.left) },
  { name: 'Durability', cell: ({ integrity }) => integrity.durability ?? '–', isText: true },
  {
    name: 'Found after a kill',
    cell: ({ killed }) =>
      killed === undefined
        ? '–'
        : `${formatCount(killed.recovered)} of ${formatCount(killed.enqueued)} acknowledged, ${formatCount(killed.consumed)} consumed before, ${formatCount(killed.lost)} lost`,
    isText: true,
  },
];

/** Text in place of a figure that the point does not have. */
const missing = ({ conditions, repeats }: Point, { ifSteady }: Metric) =>
  ifSteady && conditions?.notSteady === repeats.length ? 'not steady' : '–';

/** Repeats that are not steady or were disturbed although they were measured again. */
function conditionsInWords({ conditions }: Point): string {
  if (conditions === undefined) return '–';
  const { notSteady, disturbed, measuredAgain, contradictions = [] } = conditions;
  const parts = [
    notSteady > 0 ? `${notSteady} not steady` : '',
    disturbed > 0 ? `${disturbed} disturbed` : '',
    contradictions.length > 0 ? `contradictory: ${contradictions[0]}` : '',
    measuredAgain > 0 ? `${measuredAgain} measured again` : '',
  ].filter((part) => part !== '');
  return parts.join(', ') || 'none';
}

interface PointsOfProgram {
  points: readonly Point[];
  program: ProgramInfo;
}

/** The program's figures at each point. */
export function PointsTable({ points, program, selected }: PointsOfProgram & { selected: string | null }) {
  const columns: Column[] = [
    ...metricsOf(program).map(
      (metric): Column => ({
        name: metric.label,
        cell: (point) =>
          metric.id in point.figures ? metric.format(metric.read(point)) : missing(point, metric),
      }),
    ),
    cpuColumn,
    { name: 'Repeats', cell: (point) => point.repeats.length },
    { name: 'Do not count', cell: conditionsInWords, isText: true },
    { name: 'Provenance', cell: provenanceOf, isText: true },
  ];
  return (
    <PointTable points={points} program={program} columns={columns} selected={selected} label="Points" />
  );
}

/** Integrity counts over whole points, including warm-up and drain. Faults should be zero. */
export function IntegrityTable(props: PointsOfProgram) {
  return <PointTable {...props} columns={integrityColumns} selected={null} label="Integrity" />;
}

function PointTable(
  props: PointsOfProgram & { columns: readonly Column[]; selected: string | null; label: string },
) {
  const { points, program, selected, label } = props;
  const columns = [...identityColumns(program, points), ...props.columns];
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

/** The wait events of each system, ranked by total time. */
export function WaitsTable({ points, runId }: { points: readonly Point[]; runId: string }) {
  const waits = topWaits(points);
  const { data: registry } = useQuery(waitsQuery);
  const aboutOf = (event: string) => registry?.events.find(({ name }) => name === event)?.about;
  if (waits.length === 0) return <p className="empty">No waits recorded yet.</p>;
  return (
    <>
      <p className="small">
        <Link to="/runs/$runId/explain" params={{ runId }}>
          Explain: active sessions by wait event, point by point
        </Link>
      </p>
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
              <tr key={`${wait.system}/${wait.event}`}>
                <td>{wait.system}</td>
                <td title={aboutOf(wait.event)}>
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
    </>
  );
}
