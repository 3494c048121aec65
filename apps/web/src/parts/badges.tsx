import type { Run, RunStatus, Verdict } from '@shardlab/contract';
import { verdictLabels } from '../model/verdicts.ts';

const statusBadges: Readonly<Record<RunStatus, { label: string; tone: string }>> = {
  queued: { label: 'Queued', tone: 'quiet' },
  running: { label: 'Running', tone: 'live' },
  done: { label: 'Done', tone: 'good' },
  failed: { label: 'Failed', tone: 'bad' },
  cancelled: { label: 'Cancelled', tone: 'quiet' },
};

export function StatusBadge({ status }: { status: RunStatus }) {
  const { label, tone } = statusBadges[status];
  return (
    <span className="badge" data-tone={tone}>
      {label}
    </span>
  );
}

/** Whether the data shown is live or recorded. */
export function SourceBadge({ run }: { run: Pick<Run, 'status'> }) {
  const live = run.status === 'running' || run.status === 'queued';
  return (
    <span className="badge" data-tone={live ? 'live' : 'quiet'}>
      {live ? 'Live' : 'Recorded'}
    </span>
  );
}

const verdictTones: Readonly<Record<Verdict, string>> = {
  holds: 'good',
  'does-not-hold': 'finding',
  inconclusive: 'quiet',
  'not-comparable': 'quiet',
};

export function VerdictBadge({ verdict }: { verdict: Verdict }) {
  return (
    <span className="badge" data-tone={verdictTones[verdict]}>
      {verdictLabels[verdict]}
    </span>
  );
}
