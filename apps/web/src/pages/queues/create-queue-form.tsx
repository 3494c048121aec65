import { type CreateQueue, queueLimits } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { faultsByPath } from '../../api/client.ts';
import { createQueue } from '../../api/queries.ts';
import { Choice } from '../../parts/choice.tsx';
import { CheckField, NumberField, TextField } from '../../parts/field.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';

type Type = NonNullable<CreateQueue['type']>;
type Kind = NonNullable<CreateQueue['kind']>;
type Durability = NonNullable<CreateQueue['durability']>;

const typeNotes: Readonly<Record<Type, string>> = {
  queue: 'Each message goes to one consumer.',
  topic: 'Each subscriber receives every message, unless the message names its recipients. Stored once.',
};
const durabilityNotes: Readonly<Record<Durability, string>> = {
  durable: 'Synced to disk before a commit is acknowledged: survives a power cut.',
  relaxed: 'Written before a commit is acknowledged: survives a killed process, not a power cut.',
  memory: 'Not persistent: lost when the server stops.',
};

/** Creates a queue. The server validates the options; its error message is shown. */
export function CreateQueueForm() {
  const navigate = useNavigate();
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [type, setType] = useState<Type>('queue');
  const [kind, setKind] = useState<Kind>('sharded');
  const [shards, setShards] = useState('1');
  const [durability, setDurability] = useState<Durability>('durable');
  const [buffered, setBuffered] = useState(false);
  const [messagesMax, setMessagesMax] = useState('');
  const [priorities, setPriorities] = useState(false);
  const [correlationIndex, setCorrelationIndex] = useState(false);
  const [attempts, setAttempts] = useState('');
  const [retryDelay, setRetryDelay] = useState('');
  const unshardedOptions = type === 'topic' ? { priorities } : {};
  const isBuffered = buffered && durability === 'memory';
  const shardedOptions = {
    shards: Number(shards),
    priorities,
    ...(attempts === '' || durability === 'memory' ? {} : { attemptsMax: Number(attempts) }),
    ...(durability === 'memory' ? {} : { correlationIndex }),
    ...(isBuffered ? { visibility: 'immediate' as const } : {}),
    ...(isBuffered && messagesMax !== '' ? { messagesMax: Number(messagesMax) } : {}),
    ...(retryDelay === '' ? {} : { retryDelayMs: Number(retryDelay) }),
  };
  const create = useMutation({
    mutationFn: () =>
      createQueue({
        name,
        type,
        kind,
        durability,
        ...(kind === 'sharded' ? shardedOptions : unshardedOptions),
      }),
    onSuccess: async (queue) => {
      setName('');
      await client.invalidateQueries({ queryKey: ['queues'] });
      await navigate({ to: '/queues', search: { queue: queue.name } });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  const faults = faultsByPath(create.error);
  return (
    <form className="panel queue-form" aria-labelledby="create-queue" onSubmit={submit}>
      <h2 id="create-queue">Create a queue</h2>
      <TextField label="Name" value={name} required fault={faults.get('/name')} onChange={setName} />
      <div className="choice-note">
        <Choice<Type>
          label="Type"
          value={type}
          options={[
            { value: 'queue', label: 'Queue' },
            { value: 'topic', label: 'Topic' },
          ]}
          onChange={setType}
        />
        <p className="small muted">{typeNotes[type]}</p>
      </div>
      <Choice<Kind>
        label="Kind"
        value={kind}
        options={[
          { value: 'sharded', label: 'Sharded' },
          { value: 'unsharded', label: 'Unsharded' },
        ]}
        onChange={setKind}
      />
      <div className="choice-note">
        <Choice<Durability>
          label="Durability"
          value={durability}
          options={[
            { value: 'durable', label: 'Durable' },
            { value: 'relaxed', label: 'Relaxed' },
            { value: 'memory', label: 'Memory' },
          ]}
          onChange={setDurability}
        />
        <p className="small muted">{durabilityNotes[durability]}</p>
      </div>
      {kind === 'unsharded' && type === 'queue' ? null : (
        <CheckField checked={priorities} onChange={setPriorities}>
          Priorities 0 to {queueLimits.priorityMax}: higher priorities are delivered first
        </CheckField>
      )}
      {kind === 'unsharded' ? null : (
        <>
          <NumberField
            label="Shards, 1 to 16"
            value={shards}
            fault={faults.get('/shards')}
            min={1}
            max={16}
            onChange={setShards}
          />
          {durability === 'memory' ? (
            <CheckField checked={buffered} onChange={setBuffered}>
              Buffered: visible and consumed at once, without a commit
            </CheckField>
          ) : null}
          {isBuffered ? (
            <NumberField
              label="Undelivered messages past which enqueues are refused"
              value={messagesMax}
              fault={faults.get('/messagesMax')}
              placeholder="5000"
              min={1}
              max={queueLimits.undeliveredMax}
              onChange={setMessagesMax}
            />
          ) : null}
          {durability === 'memory' ? null : (
            <>
              <CheckField checked={correlationIndex} onChange={setCorrelationIndex}>
                Index correlation ids, so that a search does not read the whole backlog
              </CheckField>
              <NumberField
                label="Delivery attempts before the exception queue"
                value={attempts}
                fault={faults.get('/attemptsMax')}
                placeholder="no limit"
                min={1}
                max={queueLimits.attemptsMax}
                onChange={setAttempts}
              />
            </>
          )}
          <NumberField
            label="Retry delay, ms (doubles after each attempt)"
            value={retryDelay}
            fault={faults.get('/retryDelayMs')}
            placeholder="none"
            min={0}
            max={queueLimits.retryDelayMsMax}
            onChange={setRetryDelay}
          />
        </>
      )}
      <div>
        <button type="submit" className="button button-primary" disabled={create.isPending}>
          Create {type}
        </button>
      </div>
      {create.error === null || faults.size > 0 ? null : <ErrorNotice error={create.error} />}
    </form>
  );
}
