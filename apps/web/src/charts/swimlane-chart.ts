/**
 * Swimlanes: a row for each session or instance, spans and moments over a common time axis. Coordinates are CSS pixels; the
 * only transform is `timeScale`, from the unit of the data's times.
 */
import { scaleLinear } from 'd3-scale';
import { pointer, select } from 'd3-selection';
import { symbolCircle } from 'd3-shape';
import type { Lane, LaneTone } from '../model/swimlanes.ts';
import type { Chart } from './chart.ts';
import { drawMarks, fitText, type Mark, sizeSvg } from './marks.ts';
import type { LegendItem } from './svg-document.ts';
import { fontFamily, themeColor } from './visual-encoding.ts';

export interface SwimlaneData {
  width: number;
  lanes: readonly Lane[];
  /** Formats a value of the time axis, in the unit of the lanes. */
  format(time: number): string;
  /** The time under the cursor. */
  cursor: number | null;
}

export interface SwimlaneEvents {
  onCursor(time: number | null): void;
}

export const toneColor: Readonly<Record<LaneTone, string>> = {
  waits: 'var(--wait-concurrency)',
  holds: 'var(--sharded)',
  works: 'var(--wait-commit)',
  gap: 'var(--bad)',
  good: 'var(--holds)',
  bad: 'var(--bad)',
  neutral: 'var(--ink-3)',
};

/** Legend for the lanes of `herdLanes`. */
export const herdLegend: readonly LegendItem[] = [
  { label: 'waits for mutex or latch', color: toneColor.waits, opacity: 0.75 },
  { label: 'holds the mutex', color: toneColor.holds },
  { label: 'holds the latch', color: toneColor.works },
  { label: 'gets the message', color: toneColor.good, mark: { shape: symbolCircle } },
  {
    label: 'posts, wakes, finds a message or nothing',
    color: toneColor.neutral,
    mark: { shape: symbolCircle, isHollow: true },
  },
];
/** Colour of a name on a bar. */
const spanTextColor = (tone: LaneTone): string =>
  tone === 'works' ? 'var(--on-wait-commit)' : themeColor.surface;

const laneHeight = 20;
const barHeight = 14;
const axisHeight = 28;
const spanMin = 1;
/** Room that the label of a tick needs on each side: nearer to the edge it ends at its tick. */
const tickHalfWidth = 22;

export const swimlaneHeight = (lanes: number): number => lanes * laneHeight + axisHeight;

/** On a wide screen the lanes end before their outcomes, if they have any. */
function edges({ lanes, width }: Pick<SwimlaneData, 'lanes' | 'width'>) {
  const hasOutcomes = lanes.some(({ outcome }) => outcome !== '');
  return { left: width < 520 ? 74 : 92, right: width - (hasOutcomes && width >= 520 ? 116 : 8) };
}

/** Maps the times of the lanes, from the first to the last, to CSS pixels. */
export function timeScale({ lanes, width }: Pick<SwimlaneData, 'lanes' | 'width'>) {
  const times = lanes.flatMap(({ spans, moments }) => [
    ...spans.flatMap(({ from, to }) => [from, to]),
    ...moments.map(({ at }) => at),
  ]);
  const { left, right } = edges({ lanes, width });
  return scaleLinear()
    .domain([Math.min(0, ...times), Math.max(1e-6, ...times)])
    .range([left, right]);
}

export function createSwimlaneChart(element: SVGSVGElement, events: SwimlaneEvents): Chart<SwimlaneData> {
  const svg = select(element).attr('font-family', fontFamily);
  const marks = svg.append('g').attr('data-part', 'lanes').attr('font-size', 11);
  const front = svg.append('g').attr('data-part', 'cursor').attr('font-size', 11);
  let drawn: SwimlaneData | null = null;
  svg
    .on('pointermove', (event: PointerEvent) => {
      if (drawn === null) return;
      const scale = timeScale(drawn);
      const time = scale.invert(pointer(event, element)[0]);
      const [first, last] = scale.domain();
      events.onCursor(time >= first! && time <= last! ? time : null);
    })
    .on('pointerleave', () => events.onCursor(null));
  return {
    update(data) {
      drawn = data;
      const height = swimlaneHeight(data.lanes.length);
      sizeSvg(svg, { width: data.width, height });
      drawMarks(marks, [
        ...axisOf(data, height),
        ...data.lanes.flatMap((lane, row) => laneOf(lane, row, data)),
      ]);
      drawMarks(front, cursorOf(data, height));
    },
    destroy() {
      svg.on('pointermove', null).on('pointerleave', null);
      svg.selectAll('*').remove();
    },
  };
}

function axisOf(data: SwimlaneData, height: number): Mark[] {
  const x = timeScale(data);
  const bottom = height - axisHeight;
  return x.ticks(data.width < 520 ? 3 : 6).flatMap((tick): Mark[] => [
    {
      key: `line-${tick}`,
      tag: 'line',
      attrs: { x1: x(tick), x2: x(tick), y1: 0, y2: bottom, stroke: themeColor.line },
    },
    {
      key: `tick-${tick}`,
      tag: 'text',
      attrs: {
        x: x(tick),
        y: bottom + 16,
        'text-anchor': x(tick) + tickHalfWidth > data.width ? 'end' : 'middle',
        fill: themeColor.muted,
      },
      text: data.format(tick),
    },
  ]);
}

function laneOf(lane: Lane, row: number, data: SwimlaneData): Mark[] {
  const x = timeScale(data);
  const { left, right } = edges(data);
  const middle = row * laneHeight + laneHeight / 2;
  const key = (name: string | number) => `${lane.id}/${name}`;
  return [
    {
      key: key('label'),
      tag: 'text',
      attrs: { x: left - 8, y: middle + 4, 'text-anchor': 'end', fill: themeColor.muted },
      text: fitText(lane.label, left - 8),
    },
    {
      key: key('line'),
      tag: 'line',
      attrs: { x1: left, x2: right, y1: middle, y2: middle, stroke: themeColor.line },
    },
    ...lane.spans.flatMap((span, index): Mark[] => {
      const width = Math.max(spanMin, x(span.to) - x(span.from));
      const isThin = span.tone === 'waits' || span.tone === 'gap';
      const height = isThin ? barHeight / 3 : barHeight;
      const label = fitText(span.name, width - 6);
      const bar: Mark = {
        key: key(index),
        tag: 'rect',
        attrs: {
          x: x(span.from),
          width,
          y: middle - height / 2,
          height,
          fill: toneColor[span.tone],
          'fill-opacity': isThin ? '0.75' : '1',
        },
      };
      if (span.name !== label || isThin) return [bar];
      const text: Mark = {
        key: key(`${index}-name`),
        tag: 'text',
        attrs: { x: x(span.from) + 4, y: middle + 4, fill: spanTextColor(span.tone) },
        text: label,
      };
      return [bar, text];
    }),
    ...lane.moments.map(
      (moment, index): Mark => ({
        key: key(`moment-${index}`),
        tag: 'circle',
        attrs: {
          cx: x(moment.at),
          cy: middle,
          r: moment.tone === 'neutral' ? 2.5 : 4,
          fill: moment.tone === 'neutral' ? themeColor.surface : toneColor[moment.tone],
          stroke: toneColor[moment.tone],
        },
      }),
    ),
    ...(lane.outcome === '' || data.width < 520
      ? []
      : [
          {
            key: key('outcome'),
            tag: 'text',
            attrs: {
              x: right + 8,
              y: middle + 4,
              fill: toneColor[lane.outcomeTone],
              'font-weight': lane.outcomeTone === 'good' ? '600' : null,
            },
            text: lane.outcome,
          } satisfies Mark,
        ]),
  ];
}

function cursorOf(data: SwimlaneData, height: number): Mark[] {
  if (data.cursor === null) return [];
  const at = timeScale(data)(data.cursor);
  return [
    {
      key: 'cursor',
      tag: 'line',
      attrs: { x1: at, x2: at, y1: 0, y2: height - axisHeight, stroke: themeColor.text },
    },
  ];
}
