/** The scaling chart of a run with its cursor: what a page about the run and a figure beside something else share. */
import { useCallback, useMemo, useRef } from 'react';
import { type LineStyles, lineStyles } from '../charts/line-styles.ts';
import { columnsOf, createScalingChart } from '../charts/scaling-chart.ts';
import { themeColor } from '../charts/visual-encoding.ts';
import { labelRoom, lineLabelHint, lineLabelsFromPx } from '../model/line-labels.ts';
import type { Metric } from '../model/point-metrics.ts';
import { findPoint } from '../model/scaling-series.ts';
import type { RunScalingView } from '../model/scaling-view.ts';
import { usePointCursor } from './point-cursor.ts';
import { useChart, useWidth } from './use-chart.ts';

interface ScalingChartOptions {
  metric: Metric;
  /** Key of a point to mark. */
  selected: string | null;
  /** Height of the plots with labels on the lines, CSS pixels: grows from the first to the second value to fit them. */
  labelled: readonly [from: number, to: number];
  /** Height of each row of plots with a legend, used if labels have no room. */
  withLegend: number;
  /** Left out: selecting a point moves the cursor to it. */
  onSelect?(key: string): void;
}

/** Above and below the labels of a chart: titles, axis and margins. */
const outsidePx = 74;

/**
 * `found` is the point at the cursor, else the selected one. If lines have no room for labels, a legend is shown. `hint` explains
 * the labels; empty without them.
 */
export function useScalingChart(view: RunScalingView, options: ScalingChartOptions) {
  const { metric, selected } = options;
  const styles = useMemo(() => lineStyles(view.lines), [view.lines]);
  const { panels, references, curves } = useMemo(() => styledView(view, styles), [view, styles]);
  const series = useMemo(() => panels.flatMap((panel) => panel.series), [panels]);
  const { cursor, setCursor, sliderOver } = usePointCursor();
  const { box, width } = useWidth();
  const room = useMemo(() => labelRoom(view.names), [view.names]);
  const [labelledMin, labelledMax] = options.labelled;
  const hasLineLabels = width >= lineLabelsFromPx && room.height + outsidePx <= labelledMax;
  const rows = Math.ceil(panels.length / columnsOf({ width, panels }));
  const height = hasLineLabels ? Math.max(labelledMin, room.height + outsidePx) : options.withLegend * rows;
  const labelWidth = hasLineLabels ? room.width : null;
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
        panels,
        references,
        curves,
        width: Math.max(width, 240),
        height,
        labelWidth,
        formatAxis: metric.formatAxis,
        cursor,
        selected,
      }),
      [view, panels, references, curves, width, height, labelWidth, metric, cursor, selected],
    ),
  );
  return {
    box,
    element,
    height,
    series,
    styles,
    hasLineLabels,
    hint: hasLineLabels ? lineLabelHint(series) : '',
    found: findPoint(series, cursor) ?? findPoint(series, selected),
    slider: sliderOver(series, options.onSelect),
  };
}

function styledView({ panels, references, curves }: RunScalingView, styles: LineStyles) {
  const colorOf = (system: string) => styles.ofSystem(system) ?? themeColor.muted;
  return {
    panels: panels.map((panel) => ({
      ...panel,
      series: panel.series.map((entry) => ({ ...entry, ...styles.of(entry) })),
      live: panel.live && { ...panel.live, color: styles.of(panel.live).color },
    })),
    references: references.map((each) => ({ ...each, color: colorOf(each.system) })),
    curves: curves.map((each) => ({ ...each, color: colorOf(each.system) })),
  };
}
