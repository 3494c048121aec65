/** A sequence diagram: lifelines, calls and answers between them, and what each lifeline waited for, in the colour of the event. */
import { select } from 'd3-selection';
import { layoutSequence, type SequenceCall, type SequenceDiagram } from '../model/sequence.ts';
import type { Chart } from './chart.ts';
import { drawMarks, fitText, type Mark, sizeSvg } from './marks.ts';
import { fontFamily, themeColor } from './visual-encoding.ts';
import type { EventColor } from './waits-color.ts';

export interface SequenceData {
  width: number;
  diagram: SequenceDiagram;
  colors: ReadonlyMap<string, EventColor>;
  format(time: number): string;
  /** Index of the call under the cursor. */
  cursor: number | null;
}

const top = 34;
/** The whole duration, where nothing has to be stretched. */
const pxMax = 360;
const barWidth = 10;
/** Between a label and the bars beside it. */
const labelMargin = barWidth + 2;

export const sequenceHeight = (diagram: SequenceDiagram): number =>
  layoutSequence(diagram, { top, pxMax }).height + 16;

export function createSequenceChart(element: SVGSVGElement): Chart<SequenceData> {
  const svg = select(element).attr('font-family', fontFamily);
  const marks = svg.append('g').attr('data-part', 'sequence').attr('font-size', 11);
  return {
    update(data) {
      sizeSvg(svg, { width: data.width, height: sequenceHeight(data.diagram) });
      drawMarks(marks, marksOf(data));
    },
    destroy() {
      svg.selectAll('*').remove();
    },
  };
}

/** Without its time where both do not fit. */
function callText({ name, sentAt }: SequenceCall, format: (time: number) => string, px: number): string {
  const whole = `${name}  ${format(sentAt)}`;
  return fitText(whole, px) === whole ? whole : fitText(name, px);
}

function marksOf(data: SequenceData): Mark[] {
  const { width, diagram, colors, format, cursor } = data;
  const { participants, intervals, calls } = diagram;
  const { rows, yOf, height } = layoutSequence(diagram, { top, pxMax });
  const column = width / Math.max(1, participants.length);
  const xOf = (id: string) => {
    const index = participants.findIndex((each) => each.id === id);
    return column * (Math.max(0, index) + 0.5);
  };
  return [
    ...participants.flatMap(({ id, label }): Mark[] => [
      {
        key: `${id}/label`,
        tag: 'text',
        attrs: { x: xOf(id), y: 14, 'text-anchor': 'middle', fill: themeColor.text, 'font-weight': '600' },
        text: fitText(label, column - 8),
      },
      {
        key: `${id}/line`,
        tag: 'line',
        attrs: { x1: xOf(id), x2: xOf(id), y1: 22, y2: height, stroke: themeColor.strong },
      },
    ]),
    ...intervals.map(
      ({ participant, from, to, event, emulated }, index): Mark => ({
        key: `interval-${index}`,
        tag: 'rect',
        attrs: {
          x: xOf(participant) - barWidth / 2,
          width: barWidth,
          y: yOf(from),
          height: Math.max(1.5, yOf(to) - yOf(from)),
          fill: colors.get(event)?.fill ?? themeColor.muted,
          'fill-opacity': String(colors.get(event)?.opacity ?? 1),
          stroke: emulated ? themeColor.text : null,
          'stroke-dasharray': emulated ? '2 2' : null,
        },
      }),
    ),
    ...rows.flatMap(({ kind, call, y }, index): Mark[] => {
      const [from, to] = kind === 'call' ? [call.from, call.to] : [call.to, call.from];
      const towards = Math.sign(xOf(to) - xOf(from));
      const [x1, x2] = [xOf(from) + (towards * barWidth) / 2, xOf(to) - (towards * barWidth) / 2];
      const isCurrent = cursor !== null && calls[cursor] === call;
      const stroke = isCurrent ? themeColor.accent : themeColor.text;
      const text =
        kind === 'call'
          ? callText(call, format, column - labelMargin)
          : fitText(call.answer, column - labelMargin);
      return [
        {
          key: `message-${index}`,
          tag: 'path',
          attrs: {
            d: `M${x1.toFixed(1)},${y.toFixed(1)}H${x2.toFixed(1)}m${-5 * towards},-3.5l${5 * towards},3.5l${-5 * towards},3.5`,
            fill: 'none',
            stroke,
            'stroke-width': isCurrent ? '2' : '1',
            'stroke-dasharray': kind === 'answer' ? '4 3' : null,
          },
        },
        {
          key: `text-${index}`,
          tag: 'text',
          attrs: {
            // Beside its caller: an arrow to a later lifeline crosses the bars of those between.
            x: xOf(call.from) + ((kind === 'call' ? towards : -towards) * column) / 2,
            y: y - 4,
            'text-anchor': 'middle',
            fill: isCurrent ? themeColor.accent : themeColor.text,
            'paint-order': 'stroke',
            stroke: themeColor.surface,
            'stroke-width': '3',
          },
          text,
        },
      ];
    }),
  ];
}
