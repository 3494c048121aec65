import type { Run } from '@shardlab/contract';
import { toneColor } from '../charts/swimlane-chart.ts';
import { atPlace } from '../model/combination-words.ts';
import { formatMs } from '../model/format.ts';
import { runProvenance } from '../model/provenance.ts';
import { type Lane, ownershipInWords } from '../model/swimlanes.ts';
import { LaneChart } from './lane-chart.tsx';

const legend = [
  { label: 'has the service', color: toneColor.holds },
  { label: 'no owner', color: toneColor.gap, opacity: 0.75 },
];

const format = (ms: number): string => (ms === 0 ? '0' : formatMs(ms));

/** Which instance had a service when, by epoch, and the gaps between. */
export function ServiceOwners({ run, lanes, place }: { run: Run; lanes: readonly Lane[]; place: string }) {
  const wordsAt = (time: number): string => {
    const owner = lanes.find(({ spans }) =>
      spans.some(({ tone, from, to }) => tone === 'holds' && from <= time && time < to),
    );
    const span = owner?.spans.find(({ from, to }) => from <= time && time < to);
    return `${format(time)}: ${owner === undefined ? 'no owner' : `${owner.label}, ${span?.name}`}`;
  };
  return (
    <LaneChart
      provenance={runProvenance(run)}
      lanes={lanes}
      title="Owner of the service"
      unit={atPlace(place, 'time from the start of the trial; a bar for each epoch')}
      timeUnit="ms"
      fileName={`${run.scenario.id}-owners`}
      legend={legend}
      words={ownershipInWords(lanes)}
      wordsAt={wordsAt}
      format={format}
    />
  );
}
