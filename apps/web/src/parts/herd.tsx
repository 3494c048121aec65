import type { Run, Swimlane } from '@shardlab/contract';
import { useMemo } from 'react';
import { herdLegend } from '../charts/swimlane-chart.ts';
import { atPlace } from '../model/combination-words.ts';
import { formatMs } from '../model/format.ts';
import { runProvenance } from '../model/provenance.ts';
import { herdInWords, herdLanes, holdings } from '../model/swimlanes.ts';
import { LaneChart } from './lane-chart.tsx';

const formatUs = (us: number): string => (us === 0 ? '0' : formatMs(us / 1_000));

/** One enqueue and all who wake for it: a lane each, and who holds the mutex while how many wait. */
export function Herd({ run, swimlanes, place }: { run: Run; swimlanes: readonly Swimlane[]; place: string }) {
  const lanes = useMemo(() => herdLanes(swimlanes), [swimlanes]);
  const holds = useMemo(() => holdings(lanes, 'mutex'), [lanes]);
  const wordsAt = (time: number): string => {
    const at = holds.find(({ fromUs, toUs }) => fromUs <= time && time < toUs);
    return `${formatUs(time)} after the post: ${at?.holder == null ? 'the mutex is free' : `${at.holder} holds the mutex`}, ${at?.waiters ?? 0} wait for it.`;
  };
  return (
    <LaneChart
      provenance={runProvenance(run)}
      lanes={lanes}
      title="One message, and all who woke for it"
      unit={atPlace(place, 'time from the post of the message to the broadcast channel')}
      timeUnit="µs"
      fileName={`${run.scenario.id}-swimlanes`}
      legend={herdLegend}
      words={herdInWords(swimlanes)}
      wordsAt={wordsAt}
      format={formatUs}
    />
  );
}
