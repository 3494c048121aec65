import type { Run } from '@shardlab/contract';
import { useCallback, useMemo, useState } from 'react';
import { createHistogramChart, type HistogramSeries } from '../../charts/histogram-chart.ts';
import type { LegendItem } from '../../charts/svg-document.ts';
import type { DataTable } from '../../model/data-table.ts';
import { formatValue } from '../../model/format.ts';
import { middleBucket, type PowerBuckets, sharesOf } from '../../model/power-buckets.ts';
import { runProvenance } from '../../model/provenance.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { Legend } from '../../parts/legend-marks.tsx';
import { useChart, useWidth } from '../../parts/use-chart.ts';

export interface DistributionSeries extends Omit<HistogramSeries, 'shares'> {
  counts: PowerBuckets;
}

/** Distributions by powers of two in one chart, as shares of each one's total. */
export function DistributionChart(props: {
  run: Run;
  title: string;
  unit: string;
  axisTitle: string;
  fileName: string;
  series: readonly DistributionSeries[];
  /** The lower edge of bucket 0 is 0; of bucket i it is 2^(i-1) or 2^i of the unit. */
  formatEdge(bucket: number): string;
}) {
  const { run, title, unit, axisTitle, fileName, series, formatEdge } = props;
  const [cursor, setCursor] = useState<number | null>(null);
  const { box, width } = useWidth();
  const create = useCallback((svg: SVGSVGElement) => createHistogramChart(svg, { onCursor: setCursor }), []);
  const { first, shares, count } = useMemo(() => sharesOf(series.map(({ counts }) => counts)), [series]);
  const edges = useMemo(
    () => Array.from({ length: count }, (_, index) => formatEdge(first + index)),
    [count, first, formatEdge],
  );
  const height = 234;
  const data = useMemo(
    () => ({
      width: Math.max(width, 220),
      height,
      edges,
      axisTitle,
      series: series.map((each, index) => ({ ...each, shares: shares[index]! })),
      cursor,
    }),
    [width, edges, axisTitle, series, shares, cursor],
  );
  const { element } = useChart(create, data);
  const legend = series.map(
    ({ label, color, drawnAs }): LegendItem =>
      drawnAs === 'outline' ? { label, color, mark: { dash: null } } : { label, color },
  );
  const words =
    cursor === null
      ? mediansInWords(data.series, edges)
      : `From ${edges[cursor]}: ${data.series.map(({ label, shares: each }) => `${label} ${formatValue((each[cursor] ?? 0) * 100)} %`).join(', ')}`;
  const onKey = (key: string): boolean => {
    if (key === 'Escape') setCursor(null);
    else if (key === 'ArrowRight') setCursor(Math.min(count - 1, (cursor ?? -1) + 1));
    else if (key === 'ArrowLeft') setCursor(Math.max(0, (cursor ?? 1) - 1));
    else if (key === 'Home') setCursor(0);
    else if (key === 'End') setCursor(count - 1);
    else return false;
    return true;
  };
  return (
    <ChartFrame
      title={title}
      unit={unit}
      fileName={fileName}
      table={(): DataTable => ({
        columns: ['From', ...series.flatMap(({ label }) => [`${label}, count`, `${label}, share`])],
        rows: edges.map((edge, bucket) => [
          edge,
          ...series.flatMap(({ counts }, index) => [
            counts[first + bucket] ?? 0,
            Number((shares[index]![bucket] ?? 0).toPrecision(4)),
          ]),
        ]),
      })}
      svg={element}
      box={box}
      height={height}
      saved={{
        legend,
        provenance: runProvenance(run),
      }}
      legend={<Legend items={legend} />}
      readout={words}
      spoken={words}
      cursor={{ now: cursor ?? 0, max: Math.max(1, count - 1), onKey }}
    />
  );
}

/** "Median: here 512 ns to 1 µs; document, 4 pairs 2 to 4 µs." */
function mediansInWords(series: readonly HistogramSeries[], edges: readonly string[]): string {
  const parts = series.flatMap(({ label, shares }) => {
    const middle = middleBucket(shares);
    return middle === null ? [] : [`${label} ${edges[middle]} to ${edges[middle + 1] ?? 'more'}`];
  });
  return parts.length === 0 ? 'Nothing was counted.' : `Median: ${parts.join('; ')}.`;
}
