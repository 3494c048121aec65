import type { ProgramInfo, Run } from '@shardlab/contract';
import { useMemo, useState } from 'react';
import { eventColors } from '../../charts/waits-color.ts';
import { type ActivityUnit, activityGroups, activityOrder } from '../../model/active-sessions.ts';
import { ActiveSessions } from '../../parts/active-sessions-chart.tsx';
import type { RunSearch } from './run-search.ts';

/** The states of the sessions at each point: for runs without a time series, instead of the sessions over time. */
export function RunWaits(props: {
  run: Run;
  program: ProgramInfo;
  search: RunSearch;
  onSearch(change: { point: string | undefined }): void;
}) {
  const { run, program, search, onSearch } = props;
  const [unit, setUnit] = useState<ActivityUnit>('sessions');
  const groups = useMemo(
    () => activityGroups(run.points, { sweep: run.scenario.sweep, program }),
    [run.points, run.scenario, program],
  );
  const order = useMemo(() => activityOrder(groups), [groups]);
  const colors = useMemo(() => eventColors(order), [order]);
  // The CPU of processes alone says nothing of where sessions wait.
  if (order.every((each) => each.class === 'cpu')) return null;
  return (
    <ActiveSessions
      {...{ run, groups, order, colors, unit }}
      selected={search.point ?? null}
      against={null}
      onEnter="Enter chooses its point."
      onUnit={setUnit}
      onSelect={(point) => onSearch({ point: point === search.point ? undefined : point })}
    />
  );
}
