import { JsonText, type NewMessage, type QueueInfo, queueLimits } from '@shardlab/contract';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { enqueue, storeQuery } from '../../api/queries.ts';
import { plural } from '../../model/format.ts';
import { jsonFault } from '../../model/json-fault.ts';
import { hasFeature } from '../../model/store-support.ts';
import { CheckField, NumberField, TextField } from '../../parts/field.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';

export interface EnqueueFormProps {
  queue: QueueInfo;
  /** The subscribers of a topic, which a message can name as recipients. */
  subscribers: readonly string[];
  onDone(): Promise<void>;
}

/** Enqueues a message, or several copies of it, with the options that its queue supports. */
export function EnqueueForm({ queue, subscribers, onDone }: EnqueueFormProps) {
  const { data: store } = useQuery(storeQuery);
  const delays = hasFeature(store, queue.type === 'topic' ? 'delayOnTopics' : 'delay');
  const [text, setText] = useState('{ "hello": "world" }');
  const [copies, setCopies] = useState('1');
  const [priority, setPriority] = useState('0');
  const [delayMs, setDelayMs] = useState('');
  const [correlationId, setCorrelationId] = useState('');
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const faultId = useId();
  const recipients = subscribers.filter((name) => selected.has(name));
  const [isPlain, setPlain] = useState(false);
  const fault = isPlain ? null : jsonFault(text);
  const message = (): NewMessage => ({
    payload: isPlain ? text : payloadOf(text),
    ...(queue.priorities ? { priority: Number(priority) } : {}),
    ...(delayMs === '' ? {} : { delayMs: Number(delayMs) }),
    ...(correlationId === '' ? {} : { correlationId }),
    ...(recipients.length === 0 ? {} : { recipients }),
  });
  const send = useMutation({
    mutationFn: () => enqueue(queue.name, Array.from({ length: Math.max(1, Number(copies)) }, message)),
    onSuccess: onDone,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (fault === null) send.mutate();
  };
  const toggle = (name: string, isSelected: boolean) => {
    const next = new Set(selected);
    if (isSelected) next.add(name);
    else next.delete(name);
    setSelected(next);
  };
  return (
    <form className="panel queue-form" aria-label="Enqueue" onSubmit={submit}>
      <h3>Enqueue</h3>
      <label className="field">
        <span>Payload (JSON or plain text)</span>
        <textarea
          className="input"
          rows={3}
          spellCheck={false}
          value={text}
          aria-invalid={fault !== null}
          aria-describedby={fault === null ? undefined : faultId}
          onChange={(event) => {
            setText(event.target.value);
            setPlain(false);
          }}
        />
      </label>
      {fault === null ? null : (
        <div id={faultId} className="notice" data-tone="warn" role="alert">
          <p>This looks like JSON, but does not parse: {fault}.</p>
          <button type="button" className="button" onClick={() => setPlain(true)}>
            Send it as plain text
          </button>
        </div>
      )}
      {isPlain ? <p className="small muted">It is sent as plain text.</p> : null}
      <div className="form-row">
        <NumberField
          label="Copies, in one transaction"
          value={copies}
          min={1}
          max={queueLimits.messagesPerCallMax}
          onChange={setCopies}
        />
        {queue.priorities ? (
          <NumberField
            label={`Priority, 0 to ${queueLimits.priorityMax}`}
            value={priority}
            min={0}
            max={queueLimits.priorityMax}
            onChange={setPriority}
          />
        ) : null}
        {queue.kind === 'sharded' && queue.durability !== 'memory' && delays ? (
          <NumberField
            label="Delay, ms"
            value={delayMs}
            placeholder="none"
            min={0}
            max={queueLimits.delayMsMax}
            onChange={setDelayMs}
          />
        ) : null}
        <TextField
          label="Correlation id"
          value={correlationId}
          placeholder="none"
          onChange={setCorrelationId}
        />
      </div>
      {subscribers.length === 0 ? null : (
        <fieldset className="checks">
          <legend>Recipients (none selected: all subscribers)</legend>
          {subscribers.map((name) => (
            <CheckField
              key={name}
              checked={selected.has(name)}
              onChange={(isSelected) => toggle(name, isSelected)}
            >
              {name}
            </CheckField>
          ))}
        </fieldset>
      )}
      <div className="row">
        <button type="submit" className="button button-primary" disabled={send.isPending || fault !== null}>
          Enqueue
        </button>
        <p className="small" role="status">
          {send.data === undefined ? '' : `${plural(send.data.ids.length, 'message')} committed.`}
        </p>
      </div>
      {send.error === null ? null : <ErrorNotice error={send.error} />}
    </form>
  );
}

/** JSON as it was typed, or a string of the text if it is not JSON. */
function payloadOf(text: string): unknown {
  try {
    JSON.parse(text);
    return new JsonText(text.trim());
  } catch {
    return text;
  }
}
