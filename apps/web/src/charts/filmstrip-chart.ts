/** The trials of a run as a strip of frames, with the place that is shown. Dragging moves it. */
import { pointer, type Selection, select } from 'd3-selection';
import type { Frame } from '../model/filmstrip.ts';
import { px } from './axes.ts';
import type { Chart, Size } from './chart.ts';
import { fontFamily, systemColor, themeColor } from './visual-encoding.ts';

export interface FilmstripData extends Size {
  frames: readonly Frame[];
  /** Trials of the plan; those to come are empty frames. */
  planned: number;
  /** 0 to 1 over the frames; null for none. */
  position: number | null;
  /** Key of a point whose frames are marked. */
  selected: string | null;
  /** The last frame is under way. */
  isUnderWay: boolean;
}

export interface FilmstripEvents {
  /** `position`: 0 to 1 over the frames there are. */
  onScrub(position: number): void;
}

const barMin = 3;
const gapPx = 1;

export function createFilmstripChart(element: SVGSVGElement, events: FilmstripEvents): Chart<FilmstripData> {
  const svg = select(element).attr('font-family', fontFamily).attr('class', 'filmstrip');
  const slots = svg.append('g').attr('data-part', 'slots');
  const bars = svg.append('g').attr('data-part', 'bars');
  const head = svg.append('g').attr('data-part', 'head');
  let shown: FilmstripData | null = null;
  let isDragging = false;

  const scrub = (event: PointerEvent) => {
    if (shown === null || shown.frames.length === 0) return;
    const [x] = pointer(event, element);
    events.onScrub(Math.min(1, Math.max(0, x / (frameWidth(shown) * shown.frames.length))));
  };
  svg
    .on('pointerdown', (event: PointerEvent) => {
      isDragging = true;
      element.setPointerCapture?.(event.pointerId);
      scrub(event);
    })
    .on('pointermove', (event: PointerEvent) => {
      if (isDragging) scrub(event);
    })
    .on('pointerup pointercancel', () => {
      isDragging = false;
    });

  return {
    update(data) {
      shown = data;
      const { width, height, frames } = data;
      svg
        .attr('viewBox', `0 0 ${px(width)} ${height}`)
        .attr('width', px(width))
        .attr('height', height);
      drawSlots(slots, data);
      drawBars(bars, data);
      drawHead(head, {
        data,
        x: data.position === null ? null : data.position * frameWidth(data) * frames.length,
      });
    },
    destroy() {
      svg.on('pointerdown', null).on('pointermove', null).on('pointerup pointercancel', null);
      svg.selectAll('*').remove();
    },
  };
}

const frameWidth = ({ width, frames, planned }: FilmstripData): number =>
  width / Math.max(1, frames.length, planned);

type Part = Selection<SVGGElement, unknown, null, undefined>;

function drawSlots(group: Part, data: FilmstripData): void {
  const width = frameWidth(data);
  group
    .selectAll<SVGRectElement, number>('rect')
    .data(Array.from({ length: Math.max(data.frames.length, data.planned) }, (_, index) => index))
    .join('rect')
    .attr('fill', themeColor.well)
    .attr('x', (index) => px(index * width))
    .attr('y', 0)
    .attr('width', px(Math.max(1, width - gapPx)))
    .attr('height', data.height);
}

function drawBars(group: Part, data: FilmstripData): void {
  const { frames, height, selected, isUnderWay } = data;
  const width = frameWidth(data);
  const most = Math.max(1, ...frames.map(({ perSec }) => perSec));
  const barHeight = ({ perSec }: Frame) => Math.max(barMin, (height - 6) * (perSec / most));
  group
    .selectAll<SVGRectElement, Frame>('rect')
    .data(frames, ({ trial }) => String(trial))
    .join('rect')
    .attr('data-trial', ({ trial }) => trial)
    .attr('class', (_, index) => (isUnderWay && index === frames.length - 1 ? 'pulse' : null))
    .attr('fill', ({ system }) => systemColor(system))
    .attr('fill-opacity', ({ pointKey }) => (selected === null || selected === pointKey ? 0.85 : 0.35))
    .attr('x', (_, index) => px(index * width))
    .attr('y', (frame) => px(height - barHeight(frame)))
    .attr('width', px(Math.max(1, width - gapPx)))
    .attr('height', (frame) => px(barHeight(frame)));
}

function drawHead(group: Part, { data, x }: { data: FilmstripData; x: number | null }): void {
  group
    .selectAll<SVGLineElement, number>('line')
    .data(x === null ? [] : [x])
    .join('line')
    .attr('data-head', '')
    .attr('stroke', themeColor.text)
    .attr('stroke-width', 2)
    .attr('x1', px)
    .attr('x2', px)
    .attr('y1', 0)
    .attr('y2', data.height);
}
