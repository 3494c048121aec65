import type { EventHolders, Point, Run } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { waitsQuery } from '../../api/queries.ts';
import { toneColor } from '../../charts/swimlane-chart.ts';
import {
  holderLanes,
  holdersInWords,
  holdersOf,
  holdersTable,
  momentInWords,
} from '../../model/event-holders.ts';
import { formatCount, formatMs, plural } from '../../model/format.ts';
import { runProvenance } from '../../model/provenance.ts';
import { LaneChart } from '../../parts/lane-chart.tsx';

const legend = [
  { label: 'waits', color: toneColor.waits, opacity: 0.75 },
  { label: 'has it', color: toneColor.holds },
];

const format = (ms: number): string => (ms === 0 ? '0' : formatMs(ms));

/** Holders and waiters of an event's resource; empty for an event without holders. */
export function HoldersOfEvent({ run, point, event }: { run: Run; point: Point; event: string }) {
  const { data: registry } = useQuery(waitsQuery);
  const records = useMemo(() => holdersOf(point, event), [point, event]);
  const [instance, setInstance] = useState<number | null>(null);
  const record = records.find((each) => each.instance === instance) ?? records[0];
  if (record === undefined) {
    const hasHolder = registry?.events.find(({ name }) => name === event)?.hasHolder ?? false;
    return hasHolder ? (
      <p className="small muted">
        The holders and waiters of “{event}” were not recorded at this point. Runs of earlier versions do not
        have them, nor do remote sessions, the grouped unsharded queue, programs other than queue and topic,
        and trials in whose samples no session waited.
      </p>
    ) : null;
  }
  return (
    <>
      {records.length < 2 ? null : (
        <label className="field explain-against">
          <span>Holders of</span>
          <select
            className="input"
            value={record.instance ?? ''}
            onChange={(change) => setInstance(Number(change.target.value))}
          >
            {records.map((each) => (
              <option key={each.instance} value={each.instance ?? ''}>
                instance {each.instance}
              </option>
            ))}
          </select>
        </label>
      )}
      <HoldersChart run={run} record={record} />
    </>
  );
}

function HoldersChart({ run, record }: { run: Run; record: EventHolders }) {
  const { event, instance, everyMs, samples, sessions } = record;
  const lanes = useMemo(() => holderLanes(record), [record]);
  const shown = lanes.filter(({ id }) => sessions.includes(id)).length;
  const isHeldBySessions = samples.some(({ holder }) => typeof holder === 'number');
  const of = instance === null ? 'all instances' : `instance ${instance}`;
  return (
    <LaneChart
      provenance={runProvenance(run)}
      lanes={lanes}
      title={`Holder and waiters: ${event}`}
      unit={`${of}; time from the start of the measured window, ${plural(samples.length, 'sample')}, one every ${formatMs(everyMs)}`}
      fileName={`${run.scenario.id}-${event.replaceAll(/\W+/g, '-')}-holders`}
      legend={legend}
      words={holdersInWords(record)}
      wordsAt={(time) => momentInWords(record, time)}
      format={format}
      table={() => holdersTable(record)}
      note={
        shown < sessions.length
          ? `${formatCount(shown)} of ${formatCount(sessions.length)} sessions are shown: those that ${isHeldBySessions ? 'had it' : 'waited'} most often. The table has all. “deq. 2.3” is the third dequeuer of instance 2.`
          : '“deq. 2.3” is the third dequeuer of instance 2.'
      }
    />
  );
}
