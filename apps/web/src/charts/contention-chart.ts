/** Sessions as dots: they pile up at the one gate of an unsharded queue, and pass through those of a sharded one. */
import { type Selection, select } from 'd3-selection';
import { symbolCircle } from 'd3-shape';
import {
  type ContentionLayout,
  type ContentionSide,
  type Dot,
  type DotRole,
  type Lane,
  titleLetterPx,
} from '../model/contention-layout.ts';
import { plural } from '../model/format.ts';
import { px } from './axes.ts';
import type { Chart } from './chart.ts';
import { fitText } from './marks.ts';
import type { LegendItem } from './svg-document.ts';
import { fontFamily, systemColor, themeColor, waitColor } from './visual-encoding.ts';

type Sides = Selection<SVGGElement, ContentionSide, SVGGElement, unknown>;

const dotRadius = 3.4;

const dotColor: Readonly<Record<DotRole, string>> = {
  committing: waitColor.commit!,
  waiting: waitColor.concurrency!,
  paused: waitColor.configuration!,
  working: themeColor.text,
  elsewhere: themeColor.muted,
};

/** Sessions that do nothing: a ring. */
const isHollow = (role: DotRole): boolean => role === 'elsewhere';

const dotWords: readonly [DotRole, string][] = [
  ['waiting', 'waits for others'],
  ['committing', 'commits'],
  ['working', 'on a core'],
  ['paused', 'paused: flow control, partition maintenance, network'],
  ['elsewhere', 'idle, or between calls'],
];

export const dotLegend = (perDot: number): LegendItem[] => [
  {
    label: `one dot is ${perDot === 1 ? 'a session' : plural(perDot, 'session')}`,
    color: themeColor.muted,
    mark: { shape: symbolCircle },
  },
  ...dotWords.map(([role, label]) => ({
    label,
    color: dotColor[role],
    mark: { shape: symbolCircle, isHollow: isHollow(role) },
  })),
];

/** Moves of dots are transitions of the style sheet (charts.css), so that reduced motion is its matter. */
export function createContentionChart(element: SVGSVGElement): Chart<ContentionLayout> {
  const svg = select(element).attr('font-family', fontFamily);
  const sides = svg.append('g').attr('data-part', 'sides');
  return {
    update({ width, height, sides: shown }) {
      svg
        .attr('viewBox', `0 0 ${px(width)} ${px(height)}`)
        .attr('width', px(width))
        .attr('height', px(height));
      sides
        .selectAll<SVGGElement, ContentionSide>('g[data-side]')
        .data(shown, ({ system }) => system)
        .join((enter) => enterSide(enter.append('g')))
        .each(function (side) {
          drawSide(this, side);
        });
    },
    destroy() {
      svg.selectAll('*').remove();
    },
  };
}

function enterSide(side: Sides): Sides {
  side.attr('data-side', ({ system }) => system);
  side.append('g').attr('data-part', 'lanes');
  side.append('g').attr('data-part', 'dots');
  const text = (name: string, size: number) =>
    side
      .append('text')
      .attr('data-text', name)
      .attr('font-size', size)
      .attr('font-variant-numeric', 'tabular-nums');
  text('title', 12.5).attr('font-weight', 600);
  text('figure', 15).attr('font-weight', 600).attr('text-anchor', 'end');
  text('when', 11).attr('fill', themeColor.muted);
  text('gate', 11).attr('fill', themeColor.muted).attr('text-anchor', 'end');
  text('counter', 12).attr('text-anchor', 'end').attr('fill', themeColor.text);
  return side;
}

function drawSide(element: SVGGElement, side: ContentionSide): void {
  const group = select(element);
  const color = systemColor(side.system);
  const right = side.x + side.width;
  const text = (name: string) => group.select(`[data-text=${name}]`);
  text('title')
    .attr('fill', color)
    .attr('x', px(side.x))
    .attr('y', px(side.y + 13))
    .text(fitText(side.title, side.width, titleLetterPx));
  text('figure')
    .attr('fill', color)
    .attr('x', px(right))
    .attr('y', px(side.y + (side.figureIsBelow ? 31 : 14)))
    .text(side.figure);
  text('when')
    .attr('x', px(side.x))
    .attr('y', px(side.y + 29))
    .text(side.when);
  text('gate')
    .attr('x', px(side.gate?.x ?? 0))
    .attr('y', px(side.gate?.y ?? 0))
    .text(side.gate?.label ?? '');
  text('counter')
    .attr('x', px(side.counter?.x ?? 0))
    .attr('y', px(side.counter?.y ?? 0))
    .text(side.counter === null ? '' : `${side.counter.value} ${side.counter.label}`)
    .attr('font-weight', 600);
  drawLanes(group.select<SVGGElement>('[data-part=lanes]'), side, color);
  group
    .select('[data-part=dots]')
    .selectAll<SVGCircleElement, Dot>('circle')
    .data(side.dots, ({ id }) => id)
    .join('circle')
    .attr('class', 'session-dot')
    .attr('data-role', ({ role }) => role)
    .attr('r', ({ role }) => (isHollow(role) ? dotRadius - 0.5 : dotRadius))
    .attr('fill', ({ role }) => (isHollow(role) ? themeColor.surface : dotColor[role]))
    .attr('stroke', ({ role }) => (isHollow(role) ? dotColor[role] : null))
    .attr('cx', ({ x }) => px(x))
    .attr('cy', ({ y }) => px(y));
}

/** The gate is a frame with an opening to the left where sessions may pass at once, closed where one at a time may. */
function drawLanes(
  group: Selection<SVGGElement, unknown, null, undefined>,
  side: ContentionSide,
  color: string,
): void {
  const isShared = side.lanes.length === 1 && side.system !== 'sharded';
  const lanes = group
    .selectAll<SVGGElement, Lane>('g[data-lane]')
    .data(side.lanes, ({ id }) => id)
    .join((enter) => {
      const lane = enter.append('g').attr('data-lane', ({ id }) => id);
      lane.append('rect').attr('data-box', 'gate').attr('rx', 4).attr('fill', themeColor.well);
      lane.append('line').attr('data-box', 'bar').attr('stroke-linecap', 'round');
      lane.append('line').attr('data-box', 'flow').attr('stroke-width', 1.5);
      lane.append('rect').attr('data-box', 'file').attr('rx', 4).attr('fill', themeColor.well);
      lane.append('text').attr('font-size', 11).attr('fill', themeColor.muted).attr('text-anchor', 'middle');
      return lane;
    });
  lanes
    .select('[data-box=gate]')
    .attr('x', ({ x }) => px(x))
    .attr('y', ({ y }) => px(y))
    .attr('width', ({ width }) => px(width))
    .attr('height', ({ height }) => px(height));
  lanes
    .select('[data-box=bar]')
    .attr('stroke', isShared ? waitColor.concurrency! : themeColor.strong)
    .attr('stroke-width', isShared ? 4 : 1)
    .attr('stroke-dasharray', isShared ? null : '2 5')
    .attr('x1', ({ x }) => px(x))
    .attr('x2', ({ x }) => px(x))
    .attr('y1', ({ y }) => px(y))
    .attr('y2', ({ y, height }) => px(y + height));
  lanes
    .select('[data-box=flow]')
    .attr('stroke', ({ flows }) => (flows ? color : themeColor.strong))
    .attr('x1', ({ x, width }) => px(x + width))
    .attr('x2', ({ fileX }) => px(fileX))
    .attr('y1', ({ y, height }) => px(y + height / 2))
    .attr('y2', ({ y, height }) => px(y + height / 2));
  lanes
    .select('[data-box=file]')
    .attr('stroke', color)
    .attr('x', ({ fileX }) => px(fileX))
    .attr('y', ({ y }) => px(y))
    .attr('width', ({ fileWidth }) => px(fileWidth))
    .attr('height', ({ height }) => px(height));
  lanes
    .select('text')
    .attr('x', ({ fileX, fileWidth }) => px(fileX + fileWidth / 2))
    .attr('y', ({ y, height }) => px(y + height / 2 + 4))
    .text(({ fileLabel, height }) => (height >= 13 ? fileLabel : ''));
}
