/** The scaling chart of a run with its cursor: what a page about the run and a figure beside something else share. */
import { useCallback, useMemo, useRef } from 'react';
import { createScalingChart } from '../charts/scaling-chart.ts';
import { lineLabelHint, lineLabelsFromPx } from '../model/line-labels.ts';
import type { Metric } from '../model/point-metrics.ts';
import { findPoint } from '../model/scaling-series.ts';
import type { RunScalingView } from '../model/scaling-view.ts';
import { usePointCursor } from './point-cursor.ts';
import { useChart, useWidth } from './use-chart.ts';

interface ScalingChartOptions {
  metric: Metric;
  /** Key of a point to mark. */
  selected: string | null;
  /** CSS pixels of the plots, with labels on the lines or, where there is no room for them, with a legend. */
  height(hasLineLabels: boolean): number;
  /** Left out: selecting a point moves the cursor to it. */
  onSelect?(key: string): void;
}

/** `found` is the point at the cursor, else the selected one. `hint` explains the labels on the lines; empty without them. */
export function useScalingChart(view: RunScalingView, options: ScalingChartOptions) {
  const { metric, selected } = options;
  const series = useMemo(() => view.panels.flatMap((panel) => panel.series), [view]);
  const { cursor, setCursor, sliderOver } = usePointCursor();
  const { box, width } = useWidth();
  const hasLineLabels = width >= lineLabelsFromPx;
  const height = options.height(hasLineLabels);
  const onSelect = useRef(options.onSelect);
  onSelect.current = options.onSelect;
  const create = useCallback(
    (svg: SVGSVGElement) =>
      createScalingChart(svg, {
        onCursor: setCursor,
        onSelect: (key) => (onSelect.current ?? setCursor)(key),
      }),
    [setCursor],
  );
  const { element } = useChart(
    create,
    useMemo(
      () => ({
        ...view,
        width: Math.max(width, 240),
        height,
        hasLineLabels,
        formatAxis: metric.formatAxis,
        cursor,
        selected,
      }),
      [view, width, height, hasLineLabels, metric, cursor, selected],
    ),
  );
  return {
    box,
    element,
    height,
    series,
    hasLineLabels,
    hint: hasLineLabels ? lineLabelHint(series) : '',
    found: findPoint(series, cursor) ?? findPoint(series, selected),
    slider: sliderOver(series, options.onSelect),
  };
}
