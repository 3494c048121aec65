/** The geometry of the chart of active sessions: a panel of bars for each group, in rows that fit the width; one scale for all. */
import { max } from 'd3-array';
import { type ScaleLinear, scaleLinear } from 'd3-scale';

export interface WaitSegment {
  name: string;
  /** Value in the unit of the chart. */
  value: number;
}

export interface WaitBar {
  key: string;
  label: string;
  segments: readonly WaitSegment[];
}

export interface WaitPanel {
  title: string;
  bars: readonly WaitBar[];
}

export interface PlacedBar extends WaitBar {
  /** CSS pixels of the chart. */
  x: number;
  width: number;
  total: number;
}

export interface PlacedPanel {
  title: string;
  left: number;
  /** Top of the whole panel, including its title. */
  top: number;
  /** Edges of the plot. */
  plotLeft: number;
  plotRight: number;
  plotTop: number;
  plotBottom: number;
  bars: PlacedBar[];
  /** Vertical position of a value. */
  y: ScaleLinear<number, number>;
  ticks: number[];
}

const titleHeight = 30;
const plotHeight = 168;
const axisHeight = 26;
const axisTitleHeight = 18;
const gap = 18;
const axisWidth = 44;
const barStepMin = 26;
const barWidthMax = 96;

export interface WaitsLayout {
  panels: PlacedPanel[];
  height: number;
  /** End of the title of the horizontal axis, below all panels; null without one. */
  axisTitleEnd: { x: number; y: number } | null;
}

/** `reference`: a value that the scale must include, such as the number of cores. */
export function layoutWaits(
  panels: readonly WaitPanel[],
  options: { width: number; reference: number | null; axisTitle: string },
): WaitsLayout {
  const { width, reference, axisTitle } = options;
  const totalOf = ({ segments }: WaitBar) => segments.reduce((sum, { value }) => sum + value, 0);
  const bars = panels.flatMap((panel) => panel.bars);
  const top = Math.max(max(bars, totalOf) ?? 0, reference ?? 0) || 1;
  const most = Math.max(1, ...panels.map((panel) => panel.bars.length));
  const needed = axisWidth + most * barStepMin + gap;
  const columnsMax = Math.max(1, Math.floor((width + gap) / Math.max(needed, 200)));
  // Rows of about the same length: 3 and 3 rather than 5 and 1.
  const columns = Math.max(1, Math.ceil(panels.length / Math.ceil(panels.length / columnsMax)));
  const panelWidth = (width + gap) / columns - gap;
  // One step in all panels, so that the same position in two of them is the same bar.
  const step = (panelWidth - axisWidth) / most;
  const barWidth = Math.min(barWidthMax, step * 0.72);
  const rowHeight = titleHeight + plotHeight + axisHeight + gap;
  const placed = panels.map((panel, index): PlacedPanel => {
    const left = (index % columns) * (panelWidth + gap);
    const rowTop = Math.floor(index / columns) * rowHeight;
    const plotTop = rowTop + titleHeight;
    const plotBottom = plotTop + plotHeight;
    const plotLeft = left + axisWidth;
    const y = scaleLinear().domain([0, top]).nice(4).range([plotBottom, plotTop]);
    return {
      title: panel.title,
      left,
      top: rowTop,
      plotLeft,
      plotRight: left + panelWidth,
      plotTop,
      plotBottom,
      bars: panel.bars.map((bar, at) => ({
        ...bar,
        x: plotLeft + at * step + (step - barWidth) / 2,
        width: barWidth,
        total: totalOf(bar),
      })),
      y,
      ticks: y.ticks(4),
    };
  });
  const rows = Math.ceil(panels.length / columns);
  const panelsHeight = Math.max(rowHeight, rows * rowHeight) - gap + 4;
  if (axisTitle === '') return { panels: placed, height: panelsHeight, axisTitleEnd: null };
  const right = Math.max(0, ...placed.map(({ plotRight }) => plotRight));
  const height = panelsHeight + axisTitleHeight;
  return { panels: placed, height, axisTitleEnd: { x: right, y: height - 6 } };
}
