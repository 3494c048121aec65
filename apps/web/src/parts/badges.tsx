import type { Run, RunStatus, Verdict } from '@shardlab/contract';
import { type Judged, verdictLabel } from '../model/verdicts.ts';
import { useLostSince } from './use-lost-since.ts';

const statusBadges: Readonly<Record<RunStatus, { label: string; tone: string }>> = {
  queued: { label: 'Queued', tone: 'quiet' },
  running: { label: 'Running', tone: 'live' },
  done: { label: 'Done', tone: 'good' },
  failed: { label: 'Failed', tone: 'bad' },
  cancelled: { label: 'Cancelled', tone: 'quiet' },
};

const interrupted = { label: 'Interrupted', tone: 'bad' };

/** A run that was interrupted by the end of the server has the status `cancelled`, although no user cancelled it. */
export function StatusBadge({ status, errorCode }: { status: RunStatus; errorCode?: string | undefined }) {
  const { label, tone } = errorCode === 'RUN_INTERRUPTED' ? interrupted : statusBadges[status];
  // It is unknown whether the run is still under way while the server does not answer.
  const isStale = useLostSince() !== null;
  return (
    <span className="badge" data-tone={isStale && tone === 'live' ? 'quiet' : tone}>
      {label}
    </span>
  );
}

/** Whether the data shown is live, was measured here earlier, was imported, or comes with the lab. */
export function SourceBadge({ run }: { run: Pick<Run, 'status' | 'recordedOn' | 'imported'> }) {
  const live = run.status === 'running' || run.status === 'queued';
  const isStale = useLostSince() !== null;
  const source =
    run.recordedOn !== undefined ? 'Recorded elsewhere' : run.imported ? 'Imported' : 'Measured here';
  return (
    <span className="badge" data-tone={live && !isStale ? 'live' : 'quiet'}>
      {live ? (isStale ? 'Not answering' : 'Live') : source}
    </span>
  );
}

const verdictTones: Readonly<Record<Verdict, string>> = {
  holds: 'good',
  mixed: 'finding',
  'does-not-hold': 'finding',
  inconclusive: 'quiet',
  'not-comparable': 'quiet',
};

/** A provisional verdict has an outline instead of a filled badge. */
export function VerdictBadge({ verdict, provisional, isRecorded = false }: Judged) {
  return (
    <span
      className="badge"
      data-tone={verdictTones[verdict]}
      data-provisional={provisional ? '' : undefined}
      title={provisional ? 'Fewer than five repeats, so there is no interval' : undefined}
    >
      {verdictLabel({ verdict, provisional, isRecorded })}
    </span>
  );
}
