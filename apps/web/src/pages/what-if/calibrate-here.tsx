import type { Calibration } from '@shardlab/contract';
import { useState } from 'react';
import { formatDuration } from '../../model/format.ts';
import { BusyDialog } from '../../parts/busy-dialog.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { useLostSince } from '../../parts/use-lost-since.ts';
import { useCalibration } from './use-calibration.ts';

/** Measures the costs of the server's machine, after a question if it is busy; shows how far that is, and how it ended. */
export function CalibrateHere({ isCalibrated, onDone }: { isCalibrated: boolean; onDone(): void }) {
  const [asks, setAsks] = useState(false);
  const { calibration, expectedMs, ...calibrate } = useCalibration({
    onBusy: () => setAsks(true),
    onDone,
  });
  return (
    <div className="calibrate">
      {calibration?.state === 'running' ? (
        <Progress calibration={calibration} onCancel={calibrate.cancel} />
      ) : (
        <p className="row">
          <button type="button" className="button" disabled={calibrate.isPending} onClick={calibrate.ask}>
            {isCalibrated ? 'Calibrate here again' : 'Calibrate here'}
          </button>
          <span className="small muted">
            measures the costs of this machine
            {expectedMs === null ? '' : `, about ${formatDuration(expectedMs)}`}
          </span>
        </p>
      )}
      {calibration === null ? null : <Ended calibration={calibration} isCalibrated={isCalibrated} />}
      {calibrate.error === null ? null : <ErrorNotice error={calibrate.error} />}
      <BusyDialog
        isOpen={asks}
        onClose={() => setAsks(false)}
        reasons={calibrate.reasons}
        consequence="A calibration would measure that too, and the model would take the machine for slower than it is."
        continueLabel="Calibrate anyway"
        onContinue={calibrate.start}
      />
    </div>
  );
}

function Progress({ calibration, onCancel }: { calibration: Calibration; onCancel(): void }) {
  const { what, share, etaMs } = calibration;
  const isStale = useLostSince() !== null;
  return (
    <p className="row">
      <progress aria-label="Calibration" max={1} value={share} />
      <span role="status">Measuring {what}</span>
      {etaMs === null || isStale ? null : <span className="muted">{formatDuration(etaMs)} left</span>}
      <button type="button" className="button" onClick={onCancel}>
        Cancel
      </button>
    </p>
  );
}

/** How the last one ended, if it gave no costs. */
function Ended(props: { calibration: Calibration; isCalibrated: boolean }) {
  const { state, error } = props.calibration;
  if (state === 'cancelled')
    return (
      <p className="muted" role="status">
        The calibration was cancelled.{props.isCalibrated ? ' The earlier costs stay in use.' : ''}
      </p>
    );
  if (state !== 'failed' || error === null) return null;
  return (
    <div className="notice" data-tone="bad" role="alert">
      <p>The costs of this machine could not be measured: {error.message}.</p>
      <p className="small muted">{error.code}</p>
    </div>
  );
}
