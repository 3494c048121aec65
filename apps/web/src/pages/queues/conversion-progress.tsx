import type { Conversion, QueueInfo } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { cancelConversion, startConversion } from '../../api/queries.ts';
import { type ShownStep, shownSteps, tookMs } from '../../model/conversion-steps.ts';
import { formatMs, formatTimeOfDay } from '../../model/format.ts';
import { ErrorNotice } from '../../parts/query-states.tsx';

/** The progress of a conversion, the reason if it is interrupted, and buttons to resume or cancel it. */
export function ConversionProgress({ conversion, queue }: { conversion: Conversion; queue: QueueInfo }) {
  const isDone = conversion.stage === 'done';
  return (
    <section className="panel conversion" aria-label={`Conversion of ${queue.name}`}>
      <div className="section-head">
        <h3>{isDone ? 'Converted to sharded' : 'Conversion to sharded'}</h3>
        {isDone ? null : <ConversionActions conversion={conversion} />}
      </div>
      <p className="small muted" role="status">
        {describeStatus(conversion)}
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

function describeStatus(conversion: Conversion): string {
  const { stage, running, failure, startedAtMs } = conversion;
  if (stage === 'done')
    return `Started at ${formatTimeOfDay(startedAtMs)}, finished in ${formatMs(tookMs(conversion))}.`;
  if (failure !== null) return `Interrupted by an error: ${failure.message}. Enqueue stays stopped.`;
  if (!running) return 'Interrupted. Enqueue stays stopped until the conversion is resumed or cancelled.';
  return stage === 'drain'
    ? 'Waiting until consumers have emptied the queue. Enqueue is stopped.'
    : 'In progress.';
}

function ConversionActions({ conversion: { queue, running, canCancel } }: { conversion: Conversion }) {
  const client = useQueryClient();
  const onSettled = () => client.invalidateQueries({ queryKey: ['queues'] });
  const resume = useMutation({ mutationFn: () => startConversion(queue, {}), onSettled });
  const cancel = useMutation({ mutationFn: () => cancelConversion(queue), onSettled });
  const error = resume.error ?? cancel.error;
  const isBusy = resume.isPending || cancel.isPending;
  return (
    <>
      <div className="row">
        {running ? null : (
          <button type="button" className="button" disabled={isBusy} onClick={() => resume.mutate()}>
            Resume
          </button>
        )}
        {canCancel ? (
          <button type="button" className="button" disabled={isBusy} onClick={() => cancel.mutate()}>
            Cancel the conversion
          </button>
        ) : null}
      </div>
      {error === null ? null : <ErrorNotice error={error} />}
    </>
  );
}
