import { type Point, type ProgramInfo, pointKey, type Run } from '@shardlab/contract';
import { useCallback, useMemo, useState } from 'react';
import { createRatesChart, rateColor, ratesScales } from '../../charts/rates-chart.ts';
import { activityGroups } from '../../model/active-sessions.ts';
import { formatAxisCount } from '../../model/format.ts';
import { runProvenance } from '../../model/provenance.ts';
import { linesInWords, rateLines, ratesAt, ratesTable } from '../../model/rate-lines.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { LineSample } from '../../parts/legend-marks.tsx';
import { PointSelect } from '../../parts/point-select.tsx';
import { rangeCursor } from '../../parts/range-cursor.ts';
import { useChart, useWidth } from '../../parts/use-chart.ts';

const height = 240;

/** The rates of a point's participants over its first repeat; the point is chosen in the chart above, or here. */
export function RunRates(props: {
  run: Run;
  program: ProgramInfo;
  points: readonly Point[];
  selected: Point | null;
}) {
  const { run, program, points, selected } = props;
  const [chosen, setChosen] = useState<string | null>(null);
  const wanted = chosen ?? (selected === null ? null : pointKey(selected));
  const point = points.find((each) => pointKey(each) === wanted) ?? points.at(-1)!;
  const groups = useMemo(
    () => activityGroups(points, { sweep: run.scenario.sweep, program }),
    [points, run.scenario, program],
  );
  const lines = useMemo(() => rateLines(point.rates ?? []), [point]);
  const [cursor, setCursor] = useState<number | null>(null);
  const { box, width } = useWidth();
  const create = useCallback((svg: SVGSVGElement) => createRatesChart(svg, { onCursor: setCursor }), []);
  const data = useMemo(
    () => ({ width: Math.max(width, 240), height, lines, format: formatAxisCount, cursor }),
    [width, lines, cursor],
  );
  const { element } = useChart(create, data);
  const range = ratesScales(data).x.domain() as [number, number];
  const words = cursor === null ? linesInWords(lines) : ratesAt(lines, cursor);
  const legend = lines.map(({ name }, index) => ({ label: name, color: rateColor(index) }));
  return (
    <ChartFrame
      title="Rates over time"
      unit="messages per second in the measured window of the first repeat; bands: one standard deviation around the mean"
      fileName={`${run.scenario.id}-rates`}
      table={() => ratesTable(lines)}
      svg={element}
      box={box}
      height={height}
      saved={{ legend, provenance: runProvenance(run) }}
      controls={<PointSelect groups={groups} selected={pointKey(point)} onSelect={setChosen} />}
      legend={
        <ul className="legend" aria-label="Legend">
          {legend.map(({ label, color }) => (
            <li key={label}>
              <LineSample dash={null} color={color} />
              {label}
            </li>
          ))}
        </ul>
      }
      readout={words}
      spoken={words}
      cursor={rangeCursor(range, cursor, setCursor)}
    />
  );
}
