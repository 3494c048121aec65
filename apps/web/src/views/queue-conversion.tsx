import type { Conversion, QueueInfo } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { cancelConversion, startConversion } from '../api/queries.ts';
import { type ShownStep, shownSteps, tookMs } from '../model/conversion-steps.ts';
import { formatMs, formatTimeOfDay } from '../model/format.ts';
import { Failure } from './page-states.tsx';

/** A conversion as it passes its steps, why it stands still, and the way on or back. */
export function QueueConversion({ conversion, queue }: { conversion: Conversion; queue: QueueInfo }) {
  const isDone = conversion.stage === 'done';
  return (
    <section className="panel conversion" aria-label={`Conversion of ${queue.name}`}>
      <div className="section-head">
        <h3>{isDone ? 'Converted to sharded' : 'Conversion to sharded'}</h3>
        {isDone ? null : <WayOnAndBack conversion={conversion} />}
      </div>
      <p className="small muted" role="status">
        {inWords(conversion)}
      </p>
      <ol className="conversion-steps">
        {shownSteps(conversion, queue).map((step) => (
          <Step key={step.step} {...step} />
        ))}
      </ol>
    </section>
  );
}

function Step({ label, state, note }: ShownStep) {
  return (
    <li data-state={state} aria-current={state === 'current' ? 'step' : undefined}>
      <div className="conversion-step">
        <span>
          {label}
          {state === 'done' ? <span className="visually-hidden">: done</span> : null}
        </span>
        <span className="small muted">{note}</span>
      </div>
    </li>
  );
}

function inWords(conversion: Conversion): string {
  const { stage, running, failure, startedAtMs } = conversion;
  if (stage === 'done')
    return `Begun at ${formatTimeOfDay(startedAtMs)}, done in ${formatMs(tookMs(conversion))}.`;
  if (failure !== null) return `It stands still, and enqueue stays stopped: ${failure.message}.`;
  if (!running) return 'It stands still: nobody goes on with it. Enqueue stays stopped.';
  return stage === 'drain' ? 'Consumers empty the queue. Enqueue is stopped meanwhile.' : 'Under way.';
}

function WayOnAndBack({ conversion: { queue, running, canCancel } }: { conversion: Conversion }) {
  const client = useQueryClient();
  const onSettled = () => client.invalidateQueries({ queryKey: ['queues'] });
  const goOn = useMutation({ mutationFn: () => startConversion(queue, {}), onSettled });
  const cancel = useMutation({ mutationFn: () => cancelConversion(queue), onSettled });
  const error = goOn.error ?? cancel.error;
  const isBusy = goOn.isPending || cancel.isPending;
  return (
    <>
      <div className="row">
        {running ? null : (
          <button type="button" className="button" disabled={isBusy} onClick={() => goOn.mutate()}>
            Go on
          </button>
        )}
        {canCancel ? (
          <button type="button" className="button" disabled={isBusy} onClick={() => cancel.mutate()}>
            Cancel the conversion
          </button>
        ) : null}
      </div>
      {error === null ? null : <Failure error={error} />}
    </>
  );
}
