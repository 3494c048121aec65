import type { MessageOut, QueueInfo } from '@shardlab/contract';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ackOrNack, dequeue } from '../../api/queries.ts';
import { plural } from '../../model/format.ts';
import { dequeueFields, givenFields, typedNumber } from '../../model/queue-form-fields.ts';
import { Choice } from '../../parts/choice.tsx';
import { NumberField } from '../../parts/field.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { useFormFaults } from '../../parts/use-form-faults.ts';
import { MessageList } from './message-list.tsx';

type Mode = 'at-most-once' | 'manual';

/** Long enough to look at a message. If the page is closed, the message becomes ready again soon after. */
const holdMs = 60_000;

const modeNotes: Readonly<Record<Mode, string>> = {
  'at-most-once': 'Consumed before the answer is sent: at-most-once delivery.',
  manual: 'Held for one minute, unless acknowledged or returned earlier.',
};

export interface DequeueFormProps {
  queue: QueueInfo;
  /** The subscriber of a topic for whom to dequeue. */
  subscriber: string | undefined;
  onDone(): Promise<void>;
}

/** Dequeues messages: consumes them at once, or holds them until they are acknowledged or returned. */
export function DequeueForm({ queue, subscriber, onDone }: DequeueFormProps) {
  const [max, setMax] = useState('1');
  const [mode, setMode] = useState<Mode>('at-most-once');
  const [dequeued, setDequeued] = useState<{ messages: MessageOut[]; mode: Mode } | null>(null);
  const call = useMutation({
    mutationFn: () =>
      dequeue(
        queue.name,
        givenFields({
          max: typedNumber(max),
          mode,
          holdMs: mode === 'manual' ? holdMs : undefined,
          subscriber,
        }),
      ),
    onSuccess: async ({ messages }) => {
      setDequeued({ messages, mode });
      await onDone();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    call.mutate();
  };
  const { form, fault, rest } = useFormFaults(call.error, dequeueFields);
  return (
    <form ref={form} className="panel queue-form" aria-label="Dequeue" noValidate onSubmit={submit}>
      <h3>Dequeue{subscriber === undefined ? '' : ` as ${subscriber}`}</h3>
      <div className="choice-note">
        <Choice<Mode>
          label="Mode"
          value={mode}
          options={[
            { value: 'at-most-once', label: 'Consume' },
            { value: 'manual', label: 'Hold' },
          ]}
          fault={fault('mode')}
          onChange={setMode}
        />
        <p className="small muted">{modeNotes[mode]}</p>
      </div>
      <div className="form-row form-row-end">
        <NumberField label="At most" value={max} placeholder="1" fault={fault('max')} onChange={setMax} />
        <button type="submit" className="button button-primary" disabled={call.isPending}>
          Dequeue
        </button>
      </div>
      {rest === null ? null : <ErrorNotice error={rest} />}
      <div role="status">
        {dequeued === null ? null : dequeued.messages.length === 0 ? (
          <p className="small">No messages were ready.</p>
        ) : (
          <MessageList messages={dequeued.messages} label="Dequeued messages" />
        )}
      </div>
      {dequeued?.mode === 'manual' && dequeued.messages.length > 0 ? (
        <HeldActions
          key={dequeued.messages[0]?.receipt}
          queue={queue.name}
          messages={dequeued.messages}
          onDone={onDone}
        />
      ) : null}
    </form>
  );
}

const outcomes = { ack: 'acknowledged', nack: 'returned' } as const;

/** Acknowledges or returns the held messages. */
function HeldActions(props: { queue: string; messages: readonly MessageOut[]; onDone(): Promise<void> }) {
  const request = useMutation({
    mutationFn: async (action: 'ack' | 'nack') => {
      const receipts = props.messages.flatMap(({ receipt }) => receipt ?? []);
      await ackOrNack(props.queue, action, receipts);
      return action;
    },
    onSettled: props.onDone,
  });
  if (request.data !== undefined) {
    return (
      <p className="small" role="status">
        {plural(props.messages.length, 'message')} {outcomes[request.data]}.
      </p>
    );
  }
  return (
    <>
      <div className="row">
        <button
          type="button"
          className="button"
          disabled={request.isPending}
          onClick={() => request.mutate('ack')}
        >
          Acknowledge
        </button>
        <button
          type="button"
          className="button"
          disabled={request.isPending}
          onClick={() => request.mutate('nack')}
        >
          Return
        </button>
      </div>
      {request.error === null ? null : <ErrorNotice error={request.error} />}
    </>
  );
}
