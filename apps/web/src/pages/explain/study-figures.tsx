import type { DocumentTable, Point, Run } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { studiesQuery } from '../../api/queries.ts';
import type { EventColor } from '../../charts/waits-color.ts';
import { findTable, rowsByName } from '../../model/document-tables.ts';
import { type Guard, wakeUpRows } from '../../model/gets-model.ts';
import { methodReports } from '../../model/method-report.ts';
import { bucketsFrom, formatPowerNs } from '../../model/power-buckets.ts';
import { tracedIn } from '../../model/sequence.ts';
import { sessionWaitTables } from '../../model/session-wait-tables.ts';
import { isOfService } from '../../model/swimlanes.ts';
import { PointLanes } from '../../parts/point-lanes.tsx';
import { SessionWaitTables } from '../../parts/session-waits.tsx';
import { Transaction } from '../../parts/transaction.tsx';
import { DistributionChart, type DistributionSeries } from './event-durations.tsx';
import { FalseWakeUps } from './false-wake-ups.tsx';
import { GetsOverPairs } from './gets-over-pairs.tsx';
import { MethodReportsSection } from './method-reports.tsx';

const guards: readonly Guard[] = ['mutex', 'latch'];

/** Recordings of a point by programs of single studies: lanes, a transaction, and for listening sessions gets and methods. */
export function StudyFigures({
  run,
  point,
  colors,
}: {
  run: Run;
  point: Point;
  colors: ReadonlyMap<string, EventColor>;
}) {
  const { data: studies } = useQuery(studiesQuery);
  const table = (id: string) => findTable(studies, run.scenario.study, id);
  const [pairs, model, histograms] = [table('pairs'), table('model'), table('get-histograms')];
  const swimlanes = useMemo(() => point.swimlanes ?? [], [point]);
  const waitTables = useMemo(
    () =>
      sessionWaitTables(point, {
        runs: findTable(studies, run.scenario.study, 'runs'),
        waits: findTable(studies, run.scenario.study, 'waits'),
      }),
    [point, studies, run.scenario.study],
  );
  const traced = useMemo(() => tracedIn(point), [point]);
  const isListen = run.scenario.program === 'listen';
  const methods = isListen ? methodReports(run.points, point, table('top-events')) : undefined;
  const varies = new Set(run.points.map(({ params }) => params.pairs)).size > 1;
  return (
    <>
      {swimlanes.length === 0 ? null : (
        <section className="section" aria-labelledby="lanes">
          <h2 id="lanes">{isOfService(swimlanes) ? 'Owners' : 'Holder and waiters'}</h2>
          <PointLanes run={run} swimlanes={swimlanes} />
        </section>
      )}
      {traced.length === 0 ? null : (
        <section className="section" aria-labelledby="transaction">
          <h2 id="transaction">A transaction</h2>
          <Transaction run={run} lanes={traced} colors={colors} />
        </section>
      )}
      {waitTables === undefined ? null : <SessionWaitTables tables={waitTables} />}
      {methods === undefined ? null : <MethodReportsSection {...methods} />}
      {isListen && varies && pairs !== undefined && model !== undefined ? (
        <section className="section" aria-labelledby="formulas">
          <h2 id="formulas">Gets as the sessions grow</h2>
          <div className="split split-even">
            {guards.map((guard) => (
              <GetsOverPairs key={guard} run={run} guard={guard} tables={{ pairs, model }} />
            ))}
          </div>
          <FalseWakeUps rows={wakeUpRows(run.points, { pairs, model })} />
        </section>
      ) : null}
      {point.histograms === undefined ? null : (
        <section className="section" aria-labelledby="get-times">
          <h2 id="get-times">Time of a get</h2>
          <div className="split split-even">
            {guards.map((guard) => (
              <DistributionChart
                key={guard}
                run={run}
                title={`Nanoseconds of a get of the ${guard}`}
                unit="share of gets, by powers of two: 1 µs stands for 1,024 ns"
                axisTitle="time of a get"
                fileName={`${run.scenario.id}-${guard}-ns`}
                formatEdge={formatPowerNs}
                series={seriesOf(point, guard, histograms)}
              />
            ))}
          </div>
        </section>
      )}
    </>
  );
}

function seriesOf(point: Point, guard: Guard, table: DocumentTable | undefined): DistributionSeries[] {
  const ours = point.histograms?.[`${guard}GetNs`] ?? [];
  const document = Map.groupBy(
    (table === undefined ? [] : rowsByName(table)).filter((row) => row.guard === guard),
    ({ pairs }) => Number(pairs),
  );
  return [
    { label: 'here', counts: ours, color: 'var(--wait-concurrency)', drawnAs: 'bars' },
    ...[...document].map(
      ([pairs, rows], index): DistributionSeries => ({
        label: `the document, ${pairs} pairs`,
        counts: bucketsFrom(
          rows.map(({ fromNs, count }) => ({ from: Number(fromNs), count: Number(count) })),
        ),
        color: index === 0 ? 'var(--ink-3)' : 'var(--ink)',
        drawnAs: 'outline',
      }),
    ),
  ];
}
