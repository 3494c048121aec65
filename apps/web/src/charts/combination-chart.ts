/** Bars of a metric from zero, one for each combination of a run that has no axis, with what the repeats leave open. */

import { select } from 'd3-selection';
import {
  type CombinationLayout,
  layoutCombinations,
  lineHeightPx,
  namePaddingPx,
  type PlacedRow,
  referencePx,
} from '../model/combination-layout.ts';
import type { CombinationView } from '../model/combination-rows.ts';
import { systemInWords } from '../model/system-words.ts';
import { textWidth } from '../model/text-lines.ts';
import { px } from './axes.ts';
import type { Chart } from './chart.ts';
import { followPointer, type PointerEvents } from './follow-pointer.ts';
import { drawMarks, type Mark, sizeSvg } from './marks.ts';
import type { LegendItem } from './svg-document.ts';
import { documentLine, fontFamily, systemsIn, themeColor } from './visual-encoding.ts';

export interface CombinationData {
  width: number;
  view: CombinationView;
  /** Colour of a system. */
  color(system: string): string;
  formatAxis(value: number): string;
  /** Keys of rows. */
  cursor: string | null;
  selected: string | null;
}

const barHeight = 11;
/** A value of zero has a bar too. */
const barWidthMin = 1.5;
const capPx = 3;
const valuePx = 8;

/** Legend of saved images: on the page the names of the rows and the unit suffice. */
export const combinationLegend = (
  { rows, references }: Pick<CombinationView, 'rows' | 'references'>,
  color: (system: string) => string,
): LegendItem[] => [
  ...systemsIn(rows).map((system) => ({ label: systemInWords(system), color: color(system) })),
  ...systemsIn(references).map((system) => ({
    label: `${systemInWords(system)}: value in the document, on its hardware`,
    color: color(system),
    opacity: documentLine.sampleOpacity,
    mark: { dash: null },
  })),
  ...(rows.some(({ range }) => range !== null && range[0] < range[1])
    ? [{ label: 'what the repeats leave open', color: themeColor.text, mark: { dash: null, isThin: true } }]
    : []),
];

export function createCombinationChart(
  element: SVGSVGElement,
  events: PointerEvents,
): Chart<CombinationData> {
  const svg = select(element).attr('font-family', fontFamily);
  const marks = svg.append('g').attr('data-part', 'combinations').attr('font-size', 11);
  let layout: CombinationLayout | null = null;
  const keyAt = (_x: number, y: number): string | null =>
    layout?.rows.find(({ top, height }) => y >= top && y < top + height)?.row.key ?? null;
  const stopFollowing = followPointer(element, keyAt, events);
  return {
    update(data) {
      layout = layoutCombinations(data.view, data.width);
      sizeSvg(svg, { width: data.width, height: layout.height });
      drawMarks(marks, [
        ...axisMarks(layout, data),
        ...referenceMarks(layout, data),
        ...layout.rows.flatMap((placed) => rowMarks(placed, layout!, data)),
        ...liveMarks(layout, data),
      ]);
    },
    destroy() {
      stopFollowing();
      svg.selectAll('*').remove();
    },
  };
}

function axisMarks({ x, top, bottom }: CombinationLayout, { formatAxis, width }: CombinationData): Mark[] {
  return x.ticks(width < 560 ? 3 : 5).flatMap((tick): Mark[] => [
    {
      key: `line-${tick}`,
      tag: 'line',
      attrs: {
        x1: x(tick),
        x2: x(tick),
        y1: top,
        y2: bottom,
        stroke: tick === 0 ? themeColor.strong : themeColor.line,
      },
    },
    {
      key: `tick-${tick}`,
      tag: 'text',
      attrs: {
        x: x(tick),
        y: bottom + 16,
        'text-anchor': tick === 0 ? 'start' : 'middle',
        fill: themeColor.muted,
      },
      text: tick === 0 ? '0' : formatAxis(tick),
    },
  ]);
}

/** A document's value is wide and pale behind our own, as in the scaling chart. */
function referenceMarks(
  { x, top, bottom }: CombinationLayout,
  { view, color, width }: CombinationData,
): Mark[] {
  return view.references.flatMap(({ label, value, system }, index): Mark[] => {
    const isLeft = x(value) + textWidth(label) > width;
    return [
      {
        key: `reference-${label}`,
        tag: 'line',
        attrs: {
          x1: x(value),
          x2: x(value),
          y1: top,
          y2: bottom,
          stroke: color(system),
          'stroke-width': '5',
          'stroke-opacity': String(documentLine.opacity),
        },
      },
      {
        key: `reference-text-${label}`,
        tag: 'text',
        attrs: {
          x: isLeft ? Math.max(x(value) + 2, textWidth(label)) : x(value) - 2,
          y: index * referencePx + 11,
          'text-anchor': isLeft ? 'end' : 'start',
          fill: color(system),
        },
        text: label,
      },
    ];
  });
}

function rowMarks(
  { row, lines, top, height, nameY, barY }: PlacedRow,
  { x }: CombinationLayout,
  { width, color, cursor, selected }: CombinationData,
): Mark[] {
  const { key, name, system, value, range, text } = row;
  const end = Math.max(x(value ?? 0), x(range?.[1] ?? 0));
  const back: Mark[] =
    key === cursor || key === selected
      ? [
          {
            key: `${name}/back`,
            tag: 'rect',
            attrs: {
              x: 0.5,
              y: top + 0.5,
              width: width - 1,
              height: height - 1,
              rx: '4',
              fill: themeColor.well,
              stroke: key === selected ? themeColor.accent : themeColor.strong,
            },
          },
        ]
      : [];
  const bar: Mark[] =
    value === null
      ? []
      : [
          {
            key: `${name}/bar`,
            tag: 'rect',
            attrs: {
              x: x(0),
              y: barY - barHeight / 2,
              width: Math.max(barWidthMin, x(value) - x(0)),
              height: barHeight,
              rx: '1.5',
              fill: color(system),
            },
          },
        ];
  return [
    ...back,
    ...lines.map(
      (line, index): Mark => ({
        key: `${name}/name-${index}`,
        tag: 'text',
        attrs: { x: namePaddingPx, y: nameY + index * lineHeightPx, fill: themeColor.text },
        text: line,
      }),
    ),
    ...bar,
    ...(range === null || range[0] === range[1] ? [] : rangeMarks(name, [x(range[0]), x(range[1])], barY)),
    {
      key: `${name}/value`,
      tag: 'text',
      attrs: {
        x: end + valuePx,
        y: barY + 4,
        fill: value === null ? themeColor.muted : themeColor.text,
        'font-weight': value === null ? null : '600',
      },
      text,
    },
  ];
}

/** With a seam in the colour of the page, so that it is seen on the bar too. */
function rangeMarks(name: string, [from, to]: readonly [number, number], y: number): Mark[] {
  const d = `M${px(from)} ${px(y - capPx)}v${2 * capPx}M${px(from)} ${px(y)}H${px(to)}M${px(to)} ${px(y - capPx)}v${2 * capPx}`;
  return [
    { stroke: themeColor.surface, width: '4', key: 'seam' },
    { stroke: themeColor.text, width: '1.5', key: 'range' },
  ].map(({ stroke, width, key }) => ({
    key: `${name}/${key}`,
    tag: 'path',
    attrs: { d, stroke, 'stroke-width': width, fill: 'none' },
  }));
}

/** The trial under way: its rate of the moment, as a ring that pulses where motion is welcome (styles/charts.css). */
function liveMarks({ rows, x }: CombinationLayout, { view, color }: CombinationData): Mark[] {
  const { live } = view;
  const at = rows.find(({ row }) => row.key === live?.key);
  if (live === null || at === undefined) return [];
  const stroke = color(at.row.system);
  return [
    {
      key: 'live',
      tag: 'circle',
      attrs: {
        class: 'pulse',
        cx: x(live.value),
        cy: at.barY,
        r: '8',
        fill: stroke,
        'fill-opacity': '0.3',
        stroke,
        'stroke-width': '2',
      },
    },
  ];
}
