import type { Run } from '@shardlab/contract';
import { useCallback, useMemo, useState } from 'react';
import {
  createRoundTripChart,
  roundTripHeight,
  tripColor,
  waitingOpacity,
} from '../../charts/round-trip-chart.ts';
import { formatMs } from '../../model/format.ts';
import { runProvenance } from '../../model/provenance.ts';
import { type TripGroup, tripInWords, tripTable } from '../../model/round-trip.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { Legend } from '../../parts/legend-marks.tsx';
import { useChart, useWidth } from '../../parts/use-chart.ts';

const legend = [
  { label: 'a producer at work', color: tripColor.producer },
  { label: 'a consumer at work', color: tripColor.consumer },
  { label: 'waiting for the other end', color: tripColor.waiting, opacity: waitingOpacity },
];

const format = (us: number): string => (us === 0 ? '0' : formatMs(us / 1_000));

/** How long a producer and a consumer wait for the round trip of one message, and how long they work. */
export function RunRoundTrips({ run, groups }: { run: Run; groups: readonly TripGroup[] }) {
  const [cursor, setCursor] = useState<string | null>(null);
  const { box, width } = useWidth();
  const create = useCallback((svg: SVGSVGElement) => createRoundTripChart(svg, { onCursor: setCursor }), []);
  const data = useMemo(
    () => ({ width: Math.max(width, 240), groups, format, cursor }),
    [width, groups, cursor],
  );
  const { element } = useChart(create, data);
  const rows = groups.flatMap(({ title, rows: all }) => all.map((row) => ({ title, row })));
  const at = rows.findIndex(({ row }) => row.key === cursor);
  const shown = rows[at === -1 ? rows.length - 1 : at]!;
  const words = tripInWords(shown.title, shown.row);
  const onKey = (key: string): boolean => {
    const to = (index: number) => setCursor(rows[Math.min(rows.length - 1, Math.max(0, index))]!.row.key);
    if (key === 'Escape') setCursor(null);
    else if (key === 'ArrowDown' || key === 'ArrowRight') to(at + 1);
    else if (key === 'ArrowUp' || key === 'ArrowLeft') to(at === -1 ? rows.length - 1 : at - 1);
    else if (key === 'Home') to(0);
    else if (key === 'End') to(rows.length - 1);
    else return false;
    return true;
  };
  return (
    <ChartFrame
      title="A round trip: waiting and working"
      unit="time of one message at a producer (above) and at a consumer (below)"
      fileName={`${run.scenario.id}-round-trips`}
      table={() => tripTable(groups)}
      svg={element}
      box={box}
      height={roundTripHeight(groups)}
      saved={{ legend, provenance: runProvenance(run) }}
      legend={<Legend items={legend} />}
      readout={words}
      spoken={words}
      cursor={{ now: Math.max(0, at), max: Math.max(1, rows.length - 1), onKey }}
    />
  );
}
