/**
 * A round trip: for each point two bars, of a producer and of a consumer, split into the time of a message that it waited and the time
 * that it worked. Coordinates are CSS pixels; the only transform is `tripScale`, from microseconds.
 */
import { scaleLinear } from 'd3-scale';
import { pointer, select } from 'd3-selection';
import type { TripGroup, TripTime } from '../model/round-trip.ts';
import type { Chart } from './chart.ts';
import { drawMarks, fitText, type Mark, sizeSvg } from './marks.ts';
import { fontFamily, themeColor, waitColor } from './visual-encoding.ts';

export interface RoundTripData {
  width: number;
  groups: readonly TripGroup[];
  /** Formats a value of the axis, from microseconds. */
  format(us: number): string;
  /** Key of a row. */
  cursor: string | null;
}

export interface RoundTripEvents {
  onCursor(key: string | null): void;
}

export const tripColor = {
  waiting: waitColor.network!,
  producer: 'var(--unsharded)',
  consumer: 'var(--sharded)',
} as const;
export const waitingOpacity = 0.55;

const titleHeight = 24;
const rowHeight = 28;
const barHeight = 9;
const axisHeight = 24;

const heightOf = ({ rows }: TripGroup) => titleHeight + rows.length * rowHeight;

export const roundTripHeight = (groups: readonly TripGroup[]): number =>
  groups.reduce((sum, group) => sum + heightOf(group), axisHeight);

const edges = (width: number) => ({ left: width < 520 ? 82 : 150, right: width - 16 });

/** Scale from 0 to the longest time of a message. */
export function tripScale({ groups, width }: Pick<RoundTripData, 'groups' | 'width'>) {
  const totals = groups.flatMap(({ rows }) =>
    rows.flatMap(({ producer, consumer }) => [totalOf(producer), totalOf(consumer)]),
  );
  const { left, right } = edges(width);
  return scaleLinear()
    .domain([0, Math.max(1e-6, ...totals)])
    .range([left, right]);
}

const totalOf = (time: TripTime | null) => (time === null ? 0 : time.waitUs + time.workUs);

/** Every row with the y of its middle. */
function placedRows(groups: readonly TripGroup[]) {
  let top = 0;
  return groups.flatMap((group) => {
    const first = top + titleHeight;
    top += heightOf(group);
    return group.rows.map((row, index) => ({ row, middle: first + index * rowHeight + rowHeight / 2 }));
  });
}

export function createRoundTripChart(element: SVGSVGElement, events: RoundTripEvents): Chart<RoundTripData> {
  const svg = select(element).attr('font-family', fontFamily);
  const back = svg.append('g').attr('data-part', 'axis').attr('font-size', 11);
  const bars = svg.append('g').attr('data-part', 'bars').attr('font-size', 11);
  const front = svg.append('g').attr('data-part', 'cursor');
  let drawn: RoundTripData | null = null;
  svg
    .on('pointermove', (event: PointerEvent) => {
      const y = pointer(event, element)[1];
      const under = placedRows(drawn?.groups ?? []).find(
        ({ middle }) => Math.abs(y - middle) <= rowHeight / 2,
      );
      events.onCursor(under?.row.key ?? null);
    })
    .on('pointerleave', () => events.onCursor(null));
  return {
    update(data) {
      drawn = data;
      sizeSvg(svg, { width: data.width, height: roundTripHeight(data.groups) });
      drawMarks(back, axisOf(data));
      drawMarks(bars, barsOf(data));
      drawMarks(front, cursorOf(data));
    },
    destroy() {
      svg.on('pointermove', null).on('pointerleave', null);
      svg.selectAll('*').remove();
    },
  };
}

function axisOf(data: RoundTripData): Mark[] {
  const x = tripScale(data);
  const bottom = roundTripHeight(data.groups) - axisHeight;
  return x.ticks(data.width < 520 ? 3 : 6).flatMap((tick): Mark[] => [
    {
      key: `line-${tick}`,
      tag: 'line',
      attrs: { x1: x(tick), x2: x(tick), y1: titleHeight, y2: bottom, stroke: themeColor.line },
    },
    {
      key: `tick-${tick}`,
      tag: 'text',
      attrs: { x: x(tick), y: bottom + 16, 'text-anchor': 'middle', fill: themeColor.muted },
      text: data.format(tick),
    },
  ]);
}

function barsOf(data: RoundTripData): Mark[] {
  const { left } = edges(data.width);
  let top = 0;
  const titles = data.groups.map((group): Mark => {
    const y = top + 16;
    top += heightOf(group);
    return {
      key: `title-${group.title}`,
      tag: 'text',
      attrs: { x: 0, y, fill: themeColor.text, 'font-weight': '600' },
      text: fitText(group.title, data.width),
    };
  });
  const rows = placedRows(data.groups).flatMap(({ row, middle }): Mark[] => [
    {
      key: `${row.key}/label`,
      tag: 'text',
      attrs: { x: left - 8, y: middle + 4, 'text-anchor': 'end', fill: themeColor.muted },
      text: fitText(row.label, left - 8),
    },
    ...barOf(data, {
      key: `${row.key}/producer`,
      time: row.producer,
      y: middle - barHeight - 1,
      end: 'producer',
    }),
    ...barOf(data, { key: `${row.key}/consumer`, time: row.consumer, y: middle + 1, end: 'consumer' }),
  ]);
  return [...titles, ...rows];
}

/** Work first, then waiting: the bar ends where the next message begins. */
function barOf(
  data: RoundTripData,
  { key, time, y, end }: { key: string; time: TripTime | null; y: number; end: 'producer' | 'consumer' },
): Mark[] {
  if (time === null) return [];
  const x = tripScale(data);
  const part = (name: string, fromUs: number, us: number, fill: string, opacity: number): Mark => ({
    key: `${key}-${name}`,
    tag: 'rect',
    attrs: {
      x: x(fromUs),
      width: Math.max(0, x(fromUs + us) - x(fromUs)),
      y,
      height: barHeight,
      fill,
      'fill-opacity': String(opacity),
    },
  });
  return [
    part('work', 0, time.workUs, tripColor[end], 1),
    part('wait', time.workUs, time.waitUs, tripColor.waiting, waitingOpacity),
  ];
}

function cursorOf(data: RoundTripData): Mark[] {
  const at = placedRows(data.groups).find(({ row }) => row.key === data.cursor);
  if (at === undefined) return [];
  return [
    {
      key: 'cursor',
      tag: 'rect',
      attrs: {
        x: 0.5,
        y: at.middle - rowHeight / 2 + 1,
        width: data.width - 1,
        height: rowHeight - 2,
        rx: '4',
        fill: 'none',
        stroke: themeColor.strong,
      },
    },
  ];
}
