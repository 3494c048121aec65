import { type MessageOut, type QueueInfo, queueLimits } from '@shardlab/contract';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { dequeue, finish } from '../api/queries.ts';
import { plural } from '../model/format.ts';
import { Choice } from './choice.tsx';
import { NumberField } from './field.tsx';
import { MessageList } from './message-list.tsx';
import { Failure } from './page-states.tsx';

type Mode = 'auto' | 'manual';

/** What this page holds is gone with the page: long enough to look at it, short enough to come back by itself. */
const holdMs = 60_000;

const modeNotes: Readonly<Record<Mode, string>> = {
  auto: 'Consumed before the answer is sent: at most once.',
  manual: 'Held for a minute, until it is acknowledged or returned.',
};

export interface QueueDequeueProps {
  queue: QueueInfo;
  /** Of a topic: for whom. */
  subscriber: string | undefined;
  onDone(): Promise<void>;
}

/** Takes messages out for good, or holds them as a consumer at work would. */
export function QueueDequeue({ queue, subscriber, onDone }: QueueDequeueProps) {
  const [max, setMax] = useState('1');
  const [mode, setMode] = useState<Mode>('auto');
  const [taken, setTaken] = useState<{ messages: MessageOut[]; mode: Mode } | null>(null);
  const take = useMutation({
    mutationFn: () =>
      dequeue(queue.name, {
        max: Math.max(1, Number(max)),
        mode,
        ...(mode === 'manual' ? { holdMs } : {}),
        ...(subscriber === undefined ? {} : { subscriber }),
      }),
    onSuccess: async ({ messages }) => {
      setTaken({ messages, mode });
      await onDone();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    take.mutate();
  };
  return (
    <form className="panel queue-form" aria-label="Dequeue" onSubmit={submit}>
      <h3>Dequeue{subscriber === undefined ? '' : ` as ${subscriber}`}</h3>
      <div className="choice-note">
        <Choice<Mode>
          label="Then"
          value={mode}
          options={[
            { value: 'auto', label: 'Consume' },
            { value: 'manual', label: 'Hold' },
          ]}
          onChange={setMode}
        />
        <p className="small muted">{modeNotes[mode]}</p>
      </div>
      <div className="form-row">
        <NumberField label="At most" value={max} min={1} max={queueLimits.dequeueMax} onChange={setMax} />
        <button type="submit" className="button button-primary" disabled={take.isPending}>
          Dequeue
        </button>
      </div>
      {take.error === null ? null : <Failure error={take.error} />}
      <div role="status">
        {taken === null ? null : taken.messages.length === 0 ? (
          <p className="small">No message was ready.</p>
        ) : (
          <MessageList messages={taken.messages} label="Dequeued messages" />
        )}
      </div>
      {taken?.mode === 'manual' && taken.messages.length > 0 ? (
        <Finish
          key={taken.messages[0]?.receipt}
          queue={queue.name}
          messages={taken.messages}
          onDone={onDone}
        />
      ) : null}
    </form>
  );
}

const finished = { ack: 'acknowledged: consumed for good', nack: 'returned' } as const;

/** What is held is acknowledged, or given back. */
function Finish(props: { queue: string; messages: readonly MessageOut[]; onDone(): Promise<void> }) {
  const end = useMutation({
    mutationFn: async (how: 'ack' | 'nack') => {
      const receipts = props.messages.flatMap(({ receipt }) => receipt ?? []);
      await finish(props.queue, how, receipts);
      return how;
    },
    onSettled: props.onDone,
  });
  if (end.data !== undefined) {
    return (
      <p className="small" role="status">
        {plural(props.messages.length, 'message')} {finished[end.data]}.
      </p>
    );
  }
  return (
    <>
      <div className="row">
        <button type="button" className="button" disabled={end.isPending} onClick={() => end.mutate('ack')}>
          Acknowledge
        </button>
        <button type="button" className="button" disabled={end.isPending} onClick={() => end.mutate('nack')}>
          Return
        </button>
      </div>
      {end.error === null ? null : <Failure error={end.error} />}
    </>
  );
}
