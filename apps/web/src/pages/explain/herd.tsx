import type { Run, Swimlane } from '@shardlab/contract';
import { useCallback, useMemo, useState } from 'react';
import { createSwimlaneChart, swimlaneHeight, timeScale, toneColor } from '../../charts/swimlane-chart.ts';
import type { DataTable } from '../../model/data-table.ts';
import { formatMs } from '../../model/format.ts';
import { runProvenance } from '../../model/run-provenance.ts';
import { herdInWords, herdLanes, holdings } from '../../model/swimlanes.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { Swatch } from '../../parts/legend-marks.tsx';
import { useChart, useWidth } from '../../parts/use-chart.ts';

const legend = [
  { label: 'waits for mutex or latch', color: toneColor.waits, opacity: 0.75 },
  { label: 'holds the mutex', color: toneColor.holds },
  { label: 'holds the latch', color: toneColor.works },
  { label: 'gets the message', color: toneColor.good },
];

/** Steps of the keyboard cursor over the whole time. */
const steps = 60;

/** One enqueue and all who wake for it: a lane each, and who holds the mutex while how many wait. */
export function Herd({ run, swimlanes }: { run: Run; swimlanes: readonly Swimlane[] }) {
  const lanes = useMemo(() => herdLanes(swimlanes), [swimlanes]);
  const holds = useMemo(() => holdings(lanes, 'mutex'), [lanes]);
  const [cursor, setCursor] = useState<number | null>(null);
  const { box, width } = useWidth();
  const create = useCallback((svg: SVGSVGElement) => createSwimlaneChart(svg, { onCursor: setCursor }), []);
  const data = useMemo(
    () => ({
      width: Math.max(width, 240),
      lanes,
      format: (us: number) => (us === 0 ? '0' : formatMs(us / 1_000)),
      cursor,
    }),
    [width, lanes, cursor],
  );
  const { element } = useChart(create, data);
  const [first, last] = timeScale(data).domain() as [number, number];
  const holding =
    cursor === null ? undefined : holds.find(({ fromUs, toUs }) => fromUs <= cursor && cursor < toUs);
  const words =
    cursor === null
      ? herdInWords(swimlanes)
      : `${formatMs(cursor / 1_000)} after the post: ${holding?.holder ?? 'nobody'} holds the mutex, ${holding?.waiters ?? 0} wait for it.`;
  const onKey = (key: string): boolean => {
    const step = (last - first) / steps;
    if (key === 'Escape') setCursor(null);
    else if (key === 'ArrowRight') setCursor(Math.min(last, (cursor ?? first) + step));
    else if (key === 'ArrowLeft') setCursor(Math.max(first, (cursor ?? last) - step));
    else if (key === 'Home') setCursor(first);
    else if (key === 'End') setCursor(last);
    else return false;
    return true;
  };
  return (
    <ChartFrame
      title="One message, and all who woke for it"
      unit="time from the post of the message to the broadcast channel"
      fileName={`${run.scenario.id}-swimlanes`}
      table={(): DataTable => ({
        columns: ['Session', 'Outcome', 'What', 'From (µs)', 'To (µs)'],
        rows: lanes.flatMap(({ label, outcome, spans, moments }) => [
          ...spans.map(({ name, from, to }) => [label, outcome, name, from, to]),
          ...moments.map(({ name, at }) => [label, outcome, name, at, at]),
        ]),
      })}
      svg={element}
      box={box}
      height={swimlaneHeight(lanes.length)}
      saved={{ legend, provenance: runProvenance(run) }}
      legend={
        <ul className="legend" aria-label="Legend">
          {legend.map(({ label, color, opacity }) => (
            <li key={label}>
              <Swatch color={color} opacity={opacity ?? 1} />
              {label}
            </li>
          ))}
        </ul>
      }
      readout={words}
      spoken={words}
      cursor={{
        now: cursor === null ? 0 : Math.round(((cursor - first) / (last - first)) * steps),
        max: steps,
        onKey,
      }}
    />
  );
}
