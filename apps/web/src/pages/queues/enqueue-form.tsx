import { JsonText, type NewMessage, type QueueInfo, queueLimits } from '@shardlab/contract';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { ApiError } from '../../api/client.ts';
import { enqueue, storeQuery } from '../../api/queries.ts';
import { plural } from '../../model/format.ts';
import { jsonFault } from '../../model/json-fault.ts';
import { enqueueFields, givenFields, typedNumber } from '../../model/queue-form-fields.ts';
import { hasFeature } from '../../model/store-support.ts';
import { CheckField, FieldFault, NumberField, TextAreaField, TextField } from '../../parts/field.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { useFormFaults } from '../../parts/use-form-faults.ts';

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
  const questionId = useId();
  const recipientsFaultId = useId();
  const recipients = subscribers.filter((name) => selected.has(name));
  const [isPlain, setPlain] = useState(false);
  const question = isPlain ? null : jsonFault(text);
  const message: NewMessage = givenFields({
    payload: isPlain ? text : payloadOf(text),
    priority: queue.priorities ? typedNumber(priority) : undefined,
    delayMs: typedNumber(delayMs),
    correlationId: correlationId === '' ? undefined : correlationId,
    recipients: recipients.length === 0 ? undefined : recipients,
  });
  const send = useMutation({
    mutationFn: async () =>
      enqueue(
        queue.name,
        Array.from({ length: copiesToSend(copies) }, () => message),
      ),
    onSuccess: onDone,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (question === null) send.mutate();
  };
  const toggle = (name: string, isSelected: boolean) => {
    const next = new Set(selected);
    if (isSelected) next.add(name);
    else next.delete(name);
    setSelected(next);
  };
  const { form, fault, rest } = useFormFaults(send.error, enqueueFields);
  return (
    <form ref={form} className="panel queue-form" aria-label="Enqueue" noValidate onSubmit={submit}>
      <h3>Enqueue</h3>
      <TextAreaField
        label="Payload (JSON or plain text)"
        rows={3}
        value={text}
        fault={fault('payload')}
        questionId={question === null ? undefined : questionId}
        onChange={(typed) => {
          setText(typed);
          setPlain(false);
        }}
      />
      {question === null ? null : (
        <div id={questionId} className="notice" data-tone="warn" role="alert">
          <p>This looks like JSON, but does not parse: {question}.</p>
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
          fault={fault('copies')}
          placeholder="1"
          onChange={setCopies}
        />
        {queue.priorities ? (
          <NumberField
            label={`Priority, 0 to ${queueLimits.priorityMax}`}
            value={priority}
            fault={fault('priority')}
            placeholder="0"
            onChange={setPriority}
          />
        ) : null}
        {queue.kind === 'sharded' && queue.durability !== 'memory' && delays ? (
          <NumberField
            label="Delay, ms"
            value={delayMs}
            fault={fault('delayMs')}
            placeholder="none"
            onChange={setDelayMs}
          />
        ) : null}
        <TextField
          label="Correlation id"
          value={correlationId}
          fault={fault('correlationId')}
          placeholder="none"
          onChange={setCorrelationId}
        />
      </div>
      {subscribers.length === 0 ? null : (
        <fieldset
          className="checks"
          data-faulty={fault('recipients') === undefined ? undefined : ''}
          aria-describedby={fault('recipients') === undefined ? undefined : recipientsFaultId}
        >
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
          <FieldFault id={recipientsFaultId} fault={fault('recipients')} />
        </fieldset>
      )}
      <div className="row">
        <button
          type="submit"
          className="button button-primary"
          disabled={send.isPending || question !== null}
        >
          Enqueue
        </button>
        <p className="small" role="status">
          {send.data === undefined ? '' : `${plural(send.data.ids.length, 'message')} committed.`}
        </p>
      </div>
      {rest === null ? null : <ErrorNotice error={rest} />}
    </form>
  );
}

/**
 * One if nothing was typed. The server counts messages, not copies, so the words are this form's. Throws what a refusal of the
 * server looks like.
 */
function copiesToSend(typed: string): number {
  const copies = typedNumber(typed) ?? 1;
  const fault = !Number.isInteger(copies)
    ? `Must be an integer, not ${JSON.stringify(copies)}`
    : copies < 1
      ? `Must be at least 1, not ${copies}`
      : copies > queueLimits.messagesPerCallMax
        ? `Must be at most ${queueLimits.messagesPerCallMax}, not ${copies}`
        : null;
  if (fault === null) return copies;
  throw new ApiError(400, {
    code: 'REQUEST_INVALID',
    message: fault,
    retryable: false,
    details: { errors: [{ path: '/messages', message: fault }] },
  });
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
