/**
 * Active sessions by wait event: a stacked bar for each point, a panel for each group of points, and a line at the number of
 * cores. Coordinates are CSS pixels of the chart; `layoutWaits` has the only transform from values.
 */
import { select } from 'd3-selection';
import { layoutWaits, type PlacedPanel, type WaitPanel } from '../model/waits-layout.ts';
import type { Chart } from './chart.ts';
import { followPointer, type PointerEvents } from './follow-pointer.ts';
import { drawMarks, fitText, type Mark, sizeSvg } from './marks.ts';
import { fontFamily, themeColor } from './visual-encoding.ts';
import type { EventColor } from './waits-color.ts';

export interface WaitsChartData {
  /** CSS pixels; the height follows from the panels. */
  width: number;
  panels: readonly WaitPanel[];
  /** Below the panels; empty for none. */
  axisTitle: string;
  colors: ReadonlyMap<string, EventColor>;
  /** The cores of the machine, drawn as a line through all panels. The legend names it. */
  reference: number | null;
  format(value: number): string;
  /** Keys of points. */
  cursor: string | null;
  selected: string | null;
  against: string | null;
}

export function createWaitsChart(element: SVGSVGElement, events: PointerEvents): Chart<WaitsChartData> {
  const svg = select(element).attr('font-family', fontFamily);
  const back = svg.append('g').attr('data-part', 'axes').attr('font-size', 11);
  const bars = svg.append('g').attr('data-part', 'bars').attr('font-size', 11);
  const front = svg.append('g').attr('data-part', 'marks').attr('font-size', 11);
  let drawn: PlacedPanel[] = [];

  const keyAt = (x: number, y: number): string | null => {
    const panel = drawn.find(
      ({ plotTop, plotBottom, plotLeft, plotRight }) =>
        y >= plotTop && y <= plotBottom + 24 && x >= plotLeft && x <= plotRight,
    );
    return panel?.bars.find((bar) => x >= bar.x - 4 && x <= bar.x + bar.width + 4)?.key ?? null;
  };
  const stopFollowing = followPointer(element, keyAt, events);

  return {
    update(data) {
      const { panels, height, axisTitleEnd } = layoutWaits(data.panels, data);
      drawn = panels;
      sizeSvg(svg, { width: data.width, height });
      drawMarks(back, [
        ...panels.flatMap((panel) => axesOf(panel, data)),
        ...(axisTitleEnd === null ? [] : [axisTitleMark(data.axisTitle, axisTitleEnd)]),
      ]);
      drawMarks(
        bars,
        panels.flatMap((panel) => barsOf(panel, data)),
      );
      drawMarks(
        front,
        panels.flatMap((panel) => marksOf(panel, data)),
      );
    },
    destroy() {
      stopFollowing();
      svg.selectAll('*').remove();
    },
  };
}

function axesOf(panel: PlacedPanel, { format }: WaitsChartData): Mark[] {
  const { title, left, plotLeft, plotRight, plotTop, plotBottom, y, ticks, bars } = panel;
  const key = (name: string | number) => `${title}/${name}`;
  return [
    {
      key: key('title'),
      tag: 'text',
      attrs: { x: left, y: plotTop - 16, fill: themeColor.text, 'font-weight': '600' },
      text: fitText(title, plotRight - left),
    },
    ...ticks.flatMap((tick): Mark[] => [
      {
        key: key(`line-${tick}`),
        tag: 'line',
        attrs: { x1: plotLeft, x2: plotRight, y1: y(tick), y2: y(tick), stroke: themeColor.line },
      },
      {
        key: key(`tick-${tick}`),
        tag: 'text',
        attrs: { x: plotLeft - 7, y: y(tick) + 3.5, 'text-anchor': 'end', fill: themeColor.muted },
        text: format(tick),
      },
    ]),
    ...bars.map(
      (bar): Mark => ({
        key: key(`label-${bar.key}`),
        tag: 'text',
        attrs: {
          x: bar.x + bar.width / 2,
          y: plotBottom + 15,
          'text-anchor': 'middle',
          fill: themeColor.muted,
        },
        text: bar.label,
      }),
    ),
  ];
}

const axisTitleMark = (text: string, end: { x: number; y: number }): Mark => ({
  key: 'axis-title',
  tag: 'text',
  attrs: { ...end, 'text-anchor': 'end', fill: themeColor.muted },
  text,
});

function barsOf({ bars, y, plotBottom }: PlacedPanel, { colors }: WaitsChartData): Mark[] {
  return bars.flatMap((bar) => {
    let below = 0;
    return bar.segments.map((segment): Mark => {
      const [low, high] = [below, below + segment.value];
      below = high;
      const color = colors.get(segment.name);
      return {
        key: `${bar.key}/${segment.name}`,
        tag: 'rect',
        attrs: {
          x: bar.x,
          width: bar.width,
          y: y(high),
          height: Math.max(0, Math.min(plotBottom, y(low)) - y(high)),
          fill: color?.fill ?? themeColor.muted,
          'fill-opacity': String(color?.opacity ?? 1),
        },
      };
    });
  });
}

/** The line at the number of cores, and frames around the point under the cursor and the selected ones. */
function marksOf(panel: PlacedPanel, data: WaitsChartData): Mark[] {
  const { title, plotLeft, plotRight, plotTop, plotBottom, y, bars } = panel;
  const { reference, cursor, selected, against } = data;
  const line: Mark[] =
    reference === null
      ? []
      : [
          {
            key: `${title}/reference`,
            tag: 'line',
            attrs: {
              x1: plotLeft,
              x2: plotRight,
              y1: y(reference),
              y2: y(reference),
              stroke: themeColor.text,
              'stroke-width': '1.5',
              'stroke-dasharray': '5 3',
            },
          },
        ];
  const frames = [
    { key: cursor, name: 'cursor', stroke: themeColor.strong, dash: null },
    { key: against, name: 'against', stroke: themeColor.accent, dash: '3 2' },
    { key: selected, name: 'selected', stroke: themeColor.accent, dash: null },
  ];
  return [
    ...line,
    ...frames.flatMap(({ key, name, stroke, dash }): Mark[] => {
      const bar = bars.find((each) => each.key === key);
      if (bar === undefined) return [];
      return [
        {
          key: `${title}/${name}`,
          tag: 'rect',
          attrs: {
            x: bar.x - 3,
            y: plotTop - 2,
            width: bar.width + 6,
            height: plotBottom - plotTop + 22,
            rx: '4',
            fill: 'none',
            stroke,
            'stroke-width': '1.5',
            'stroke-dasharray': dash,
          },
        },
      ];
    }),
  ];
}
