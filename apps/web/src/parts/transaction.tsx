import type { Run, SequenceLane } from '@shardlab/contract';
import { useCallback, useMemo, useState } from 'react';
import { createSequenceChart, sequenceHeight } from '../charts/sequence-chart.ts';
import type { EventColor } from '../charts/waits-color.ts';
import { onCpu, runnable } from '../model/active-sessions.ts';
import { atPlace } from '../model/combination-words.ts';
import type { DataTable } from '../model/data-table.ts';
import { formatMs } from '../model/format.ts';
import { runProvenance } from '../model/provenance.ts';
import { sequenceOf, sequenceTotals } from '../model/sequence.ts';
import { ChartFrame } from './chart-frame.tsx';
import { Legend } from './legend-marks.tsx';
import { useChart, useWidth } from './use-chart.ts';

const format = (us: number): string => (us === 0 ? '0' : formatMs(us / 1_000));

/** Colours of states that are not wait events; a wait event of the same name has its own colour. */
const stateColors: readonly (readonly [string, EventColor])[] = [
  [onCpu, { fill: 'var(--wait-cpu)', opacity: 1 }],
  [runnable, { fill: 'var(--wait-cpu)', opacity: 0.45 }],
  ['other branch', { fill: 'var(--wait-configuration)', opacity: 0.55 }],
  ['unnamed', { fill: 'var(--line-strong)', opacity: 1 }],
];

/** One transaction as it ran: its calls in their order, and what each branch waited for. */
export function Transaction(props: {
  run: Run;
  lanes: readonly SequenceLane[];
  colors: ReadonlyMap<string, EventColor>;
  /** Which point, where that is not obvious. */
  place?: string;
}) {
  const { run, lanes, place = '' } = props;
  const colors = useMemo(() => new Map([...stateColors, ...props.colors]), [props.colors]);
  const diagram = useMemo(() => sequenceOf(lanes), [lanes]);
  const calls = useMemo(() => diagram.calls.toSorted((a, b) => a.sentAt - b.sentAt), [diagram]);
  const ordered = useMemo(() => ({ ...diagram, calls }), [diagram, calls]);
  const [cursor, setCursor] = useState<number | null>(null);
  const { box, width } = useWidth();
  const create = useCallback((svg: SVGSVGElement) => createSequenceChart(svg), []);
  const data = useMemo(
    () => ({ width: Math.max(width, 240), diagram: ordered, colors, format, cursor }),
    [width, ordered, colors, cursor],
  );
  const { element } = useChart(create, data);
  const totals = sequenceTotals(diagram);
  const call = cursor === null ? undefined : calls[cursor];
  const words =
    call === undefined
      ? `${calls.length} calls; ${totals
          .slice(0, 3)
          .map(({ event, total }) => `${event} ${format(total)}`)
          .join(', ')}.`
      : `${call.name} of ${call.to}: from ${format(call.sentAt)} to ${format(call.answeredAt)}`;
  const legend = totals.map(({ event }) => ({
    label: event,
    color: colors.get(event)?.fill ?? 'var(--ink-3)',
    opacity: colors.get(event)?.opacity ?? 1,
  }));
  return (
    <ChartFrame
      title="One transaction, call by call"
      unit={atPlace(
        place,
        'time from its first call, downwards; short times are stretched; dashed bars are emulated',
      )}
      fileName={`${run.scenario.id}-transaction`}
      table={(): DataTable => ({
        columns: ['Participant', 'What', 'From (µs)', 'To (µs)'],
        rows: lanes.flatMap(({ name, calls: made, states }) =>
          [...made, ...states].map((span) => [name, span.name, span.fromUs, span.toUs]),
        ),
      })}
      svg={element}
      box={box}
      height={sequenceHeight(ordered)}
      saved={{ legend, provenance: runProvenance(run) }}
      legend={<Legend items={legend} />}
      readout={words}
      spoken={words}
      cursor={{
        now: cursor ?? 0,
        max: Math.max(1, calls.length - 1),
        onKey(key) {
          const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key];
          if (key === 'Escape') setCursor(null);
          else if (step !== undefined)
            setCursor(Math.max(0, Math.min(calls.length - 1, (cursor ?? -step) + step)));
          else return false;
          return true;
        },
      }}
    />
  );
}
