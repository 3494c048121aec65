import { useCallback, useMemo, useState } from 'react';
import type { EventColor } from '../charts/waits-color.ts';
import { createWaterfall, waterfallHeight, waterfallLegend } from '../charts/waits-waterfall.ts';
import type { PointActivity } from '../model/active-sessions.ts';
import { activityChange, changeInWords } from '../model/activity-change.ts';
import type { DataTable } from '../model/data-table.ts';
import { formatMs } from '../model/format.ts';
import { formatUsShort } from '../model/format-change.ts';
import { ChartFrame } from './chart-frame.tsx';
import { useChart, useWidth } from './use-chart.ts';

export interface ActivityWaterfallProps {
  from: { label: string; at: Omit<PointActivity, 'label' | 'words'> };
  to: { label: string; at: Omit<PointActivity, 'label' | 'words'> };
  colors: ReadonlyMap<string, EventColor>;
  fileName: string;
  provenance: string;
}

/** The difference of a message's time between two points, as a waterfall. */
export function ActivityWaterfall({ from, to, colors, fileName, provenance }: ActivityWaterfallProps) {
  const change = useMemo(() => activityChange(from.at, to.at), [from.at, to.at]);
  const { box, width } = useWidth();
  const create = useCallback((svg: SVGSVGElement) => createWaterfall(svg), []);
  const steps = useMemo(
    () => (change?.steps ?? []).map(({ name, fromUs, toUs }) => ({ name, from: fromUs, to: toUs })),
    [change],
  );
  const [cursor, setCursor] = useState(0);
  const data = useMemo(
    () => ({
      width: Math.max(width, 220),
      from: { label: from.label, value: change?.fromUs ?? 0 },
      to: { label: to.label, value: change?.toUs ?? 0 },
      steps,
      colors,
      format: (us: number) => formatMs(us / 1_000),
      formatChange: formatUsShort,
    }),
    [width, from.label, to.label, steps, change, colors],
  );
  const { element } = useChart(create, data);
  const words = change === null ? 'One of the points delivered no messages.' : `${changeInWords(change)}.`;
  const step = change?.steps[cursor];
  return (
    <ChartFrame
      title="Time of a message, from one point to the other"
      unit="session time for each message delivered; by wait event, largest change first"
      fileName={fileName}
      table={(): DataTable => ({
        columns: ['Event', `${from.label} (µs)`, `${to.label} (µs)`, 'Change (µs)'],
        rows: (change?.steps ?? []).map(({ name, fromUs, toUs }) => [
          name,
          ...[fromUs, toUs, toUs - fromUs].map((value) => Number(value.toPrecision(5))),
        ]),
      })}
      svg={element}
      box={box}
      height={waterfallHeight(steps.length)}
      saved={{ legend: waterfallLegend(data), provenance }}
      readout={<b>{words}</b>}
      spoken={
        step === undefined
          ? words
          : `${step.name}: ${formatUsShort(step.toUs - step.fromUs)}, from ${formatMs(step.fromUs / 1_000)} to ${formatMs(step.toUs / 1_000)}`
      }
      cursor={{
        now: cursor,
        max: Math.max(1, steps.length - 1),
        onKey(key) {
          const next = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key];
          if (next === undefined) return false;
          setCursor(Math.max(0, Math.min(steps.length - 1, cursor + next)));
          return true;
        },
      }}
    />
  );
}
