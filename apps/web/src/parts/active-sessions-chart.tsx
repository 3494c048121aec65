import type { Run } from '@shardlab/contract';
import { useMemo, useState } from 'react';
import { createWaitsChart } from '../charts/waits-chart.ts';
import type { EventColor } from '../charts/waits-color.ts';
import {
  type ActivityGroup,
  type ActivityUnit,
  inUnit,
  type PointActivity,
} from '../model/active-sessions.ts';
import type { DataTable } from '../model/data-table.ts';
import { formatAxisCount, formatMs, formatSessions } from '../model/format.ts';
import { runProvenance } from '../model/provenance.ts';
import { layoutWaits, type WaitPanel } from '../model/waits-layout.ts';
import { ChartFrame } from './chart-frame.tsx';
import { Choice } from './choice.tsx';
import { LineSample, Swatch } from './legend-marks.tsx';
import { usePointerChart, useWidth } from './use-chart.ts';

export interface ActiveSessionsProps {
  run: Run;
  groups: readonly ActivityGroup[];
  order: readonly { name: string }[];
  colors: ReadonlyMap<string, EventColor>;
  unit: ActivityUnit;
  selected: string | null;
  against: string | null;
  onUnit(unit: ActivityUnit): void;
  /** The effect of Enter, as a sentence. */
  onEnter: string;
  onSelect(key: string): void;
}

/** Stacked active sessions by wait event, a bar for each point. */
export function ActiveSessions(props: ActiveSessionsProps) {
  const { run, groups, order, colors, unit, selected, against, onUnit, onSelect } = props;
  const [cursor, setCursor] = useState<string | null>(null);
  const { box, width } = useWidth();
  const cores = run.environment?.cores ?? null;
  const panels = useMemo(() => panelsOf(groups, order, unit), [groups, order, unit]);
  const reference = unit === 'sessions' ? cores : null;
  const axisTitle = groups[0]?.axisTitle ?? '';
  const shown = Math.max(width, 240);
  const data = useMemo(
    () => ({
      width: shown,
      panels,
      axisTitle,
      colors,
      reference,
      format: unit === 'sessions' ? formatAxisCount : (us: number) => (us === 0 ? '0' : formatMs(us / 1_000)),
      cursor,
      selected,
      against,
    }),
    [shown, panels, axisTitle, colors, reference, unit, cursor, selected, against],
  );
  const { element } = usePointerChart(createWaitsChart, { onCursor: setCursor, onSelect }, data);
  const height = useMemo(
    () => layoutWaits(panels, { width: shown, reference, axisTitle }).height,
    [panels, shown, reference, axisTitle],
  );
  const all = groups.flatMap((group) => group.points.map((point) => ({ group, point })));
  const keys = all.map(({ point }) => point.key);
  const at = all.find(({ point }) => point.key === (cursor ?? selected));
  const onKey = (key: string): boolean => {
    const now = keys.indexOf(cursor ?? selected ?? '');
    const next: Record<string, number> = {
      ArrowRight: now + 1,
      ArrowUp: now + 1,
      ArrowLeft: now - 1,
      ArrowDown: now - 1,
      Home: 0,
      End: keys.length - 1,
    };
    if (key === 'Enter' || key === ' ') {
      if (cursor !== null) onSelect(cursor);
    } else if (key === 'Escape') setCursor(null);
    else if (next[key] !== undefined)
      setCursor(keys[Math.max(0, Math.min(keys.length - 1, next[key]))] ?? null);
    else return false;
    return true;
  };
  const legend = order.map(({ name }) => ({
    label: name,
    color: colors.get(name)?.fill ?? '',
    opacity: colors.get(name)?.opacity ?? 1,
  }));
  return (
    <ChartFrame
      title={unit === 'sessions' ? 'Active sessions by wait event' : 'Time of a message by wait event'}
      unit={
        unit === 'sessions'
          ? 'average sessions on CPU or in a wait that is not idle; one scale for all'
          : 'session time for each message delivered; one scale for all'
      }
      fileName={`${run.scenario.id}-active-sessions`}
      table={() => tableOf(groups, order, unit)}
      svg={element}
      box={box}
      height={height}
      saved={{
        legend:
          reference === null
            ? legend
            : [...legend, { label: `line: ${reference} cores`, color: 'var(--ink)' }],
        provenance: runProvenance(run),
      }}
      controls={
        <Choice<ActivityUnit>
          label="Show"
          value={unit}
          options={[
            { value: 'sessions', label: 'Active sessions' },
            { value: 'us', label: 'Time a message' },
          ]}
          onChange={onUnit}
        />
      }
      legend={
        <ul className="legend" aria-label="Legend">
          {legend.map(({ label, color, opacity }) => (
            <li key={label}>
              <Swatch color={color} opacity={opacity} />
              {label}
            </li>
          ))}
          {reference === null ? null : (
            <li>
              <LineSample dash="5 3" color="var(--ink)" />
              {reference} cores of the machine
            </li>
          )}
        </ul>
      }
      readout={
        at === undefined
          ? `Point at a bar or use the arrow keys. ${props.onEnter}`
          : readoutOf(at.group.title, at.point, unit)
      }
      spoken={at === undefined ? 'no point selected' : readoutOf(at.group.title, at.point, unit)}
      cursor={{
        now: Math.max(0, keys.indexOf(cursor ?? selected ?? '')),
        max: Math.max(1, keys.length - 1),
        onKey,
      }}
    />
  );
}

/** "12.30", or "340 µs". */
const formatIn = (unit: ActivityUnit, value: number): string =>
  unit === 'sessions' ? formatSessions(value) : formatMs(value / 1_000);

function panelsOf(
  groups: readonly ActivityGroup[],
  order: readonly { name: string }[],
  unit: ActivityUnit,
): WaitPanel[] {
  return groups.map(({ title, points }) => ({
    title,
    bars: points.map(({ key, label, activities, messagesPerSec }) => ({
      key,
      label,
      segments: order.flatMap(({ name }) => {
        const activity = activities.find((each) => each.name === name);
        return activity === undefined
          ? []
          : [{ name, value: inUnit(activity.sessions, unit, messagesPerSec) }];
      }),
    })),
  }));
}

function readoutOf(title: string, point: PointActivity, unit: ActivityUnit): string {
  const value = (sessions: number) => formatIn(unit, inUnit(sessions, unit, point.messagesPerSec));
  const parts = point.activities.slice(0, 3).map(({ name, sessions }) => `${name} ${value(sessions)}`);
  return `${[title, point.words].filter((part) => part !== '').join(', ')}: ${value(point.sessions)} in all; ${parts.join(', ')}${point.coresBusy === null ? '' : `; ${formatSessions(point.coresBusy)} cores busy`}`;
}

function tableOf(
  groups: readonly ActivityGroup[],
  order: readonly { name: string }[],
  unit: ActivityUnit,
): DataTable {
  const suffix = unit === 'sessions' ? '' : ' (µs a message)';
  return {
    columns: [
      'Points',
      'Point',
      ...order.map(({ name }) => `${name}${suffix}`),
      `All${suffix}`,
      'Idle sessions',
      'Cores busy',
      'Messages per second',
    ],
    rows: groups.flatMap(({ title, points }) =>
      points.map((point) => [
        title,
        point.words,
        ...order.map(({ name }) => {
          const activity = point.activities.find((each) => each.name === name);
          return activity === undefined ? 0 : rounded(inUnit(activity.sessions, unit, point.messagesPerSec));
        }),
        rounded(inUnit(point.sessions, unit, point.messagesPerSec)),
        rounded(point.idleSessions),
        point.coresBusy === null ? null : rounded(point.coresBusy),
        Math.round(point.messagesPerSec),
      ]),
    ),
  };
}

const rounded = (value: number): number => Number(value.toPrecision(4));
