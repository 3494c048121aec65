import { type CreateQueue, queueLimits } from '@shardlab/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { createQueue, storeQuery } from '../../api/queries.ts';
import { createQueueFields, givenFields, typedNumber } from '../../model/queue-form-fields.ts';
import { durabilitiesOf, durabilityNote, hasFeature } from '../../model/store-support.ts';
import { Choice } from '../../parts/choice.tsx';
import { CheckField, NumberField, TextField } from '../../parts/field.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { useFormFaults } from '../../parts/use-form-faults.ts';

type Type = NonNullable<CreateQueue['type']>;
type Kind = NonNullable<CreateQueue['kind']>;
type Durability = NonNullable<CreateQueue['durability']>;

const typeNotes: Readonly<Record<Type, string>> = {
  queue: 'Each message goes to one consumer.',
  topic: 'Each subscriber receives every message, unless the message names its recipients. Stored once.',
};
const types: readonly { value: Type; label: string }[] = [
  { value: 'queue', label: 'Queue' },
  { value: 'topic', label: 'Topic' },
];
const kinds: readonly { value: Kind; label: string }[] = [
  { value: 'sharded', label: 'Sharded' },
  { value: 'unsharded', label: 'Unsharded' },
];
const kindNotes: Readonly<Record<Kind, string>> = {
  sharded: 'Each instance has shards of its own.',
  unsharded: 'All instances share one table.',
  'unsharded-grouped': 'All instances share one table, which one elected writer changes.',
};
const durabilityLabels: Readonly<Record<Durability, string>> = {
  durable: 'Durable',
  relaxed: 'Relaxed',
  memory: 'Memory',
};

/** Creates a queue with what the store has. The server validates the options; what it says is shown beside the field. */
export function CreateQueueForm() {
  const navigate = useNavigate();
  const client = useQueryClient();
  const { data: store } = useQuery(storeQuery);
  const has = (feature: string) => hasFeature(store, feature);
  const durabilities = durabilitiesOf(store);
  const [name, setName] = useState('');
  const [type, setType] = useState<Type>('queue');
  const [kind, setKind] = useState<Kind>('sharded');
  const [shards, setShards] = useState('1');
  const [chosen, setDurability] = useState<Durability>('durable');
  const durability = durabilities.includes(chosen) ? chosen : durabilities[0]!;
  const [buffered, setBuffered] = useState(false);
  const [messagesMax, setMessagesMax] = useState('');
  const [priorities, setPriorities] = useState(false);
  const [correlationIndex, setCorrelationIndex] = useState(false);
  const [attempts, setAttempts] = useState('');
  const [retryDelay, setRetryDelay] = useState('');
  const retryOptions = {
    attemptsMax: buffered && durability === 'memory' ? undefined : typedNumber(attempts),
    retryDelayMs: typedNumber(retryDelay),
  };
  const isPlain = kind === 'unsharded' && type === 'queue';
  const unshardedOptions = isPlain ? retryOptions : { priorities, ...retryOptions };
  const isBuffered = buffered && durability === 'memory';
  const shardedOptions = {
    shards: typedNumber(shards),
    priorities,
    ...retryOptions,
    ...(durability === 'memory' ? {} : { correlationIndex }),
    ...(isBuffered ? { visibility: 'immediate' as const, messagesMax: typedNumber(messagesMax) } : {}),
  };
  const create = useMutation({
    mutationFn: () =>
      createQueue(
        givenFields({
          name,
          type,
          kind,
          durability,
          ...(kind === 'sharded' ? shardedOptions : unshardedOptions),
        }),
      ),
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
  const { form, fault, rest } = useFormFaults(create.error, createQueueFields);
  return (
    <form ref={form} className="panel queue-form" aria-labelledby="create-queue" noValidate onSubmit={submit}>
      <h2 id="create-queue">Create a queue</h2>
      <TextField label="Name" value={name} required fault={fault('name')} onChange={setName} />
      <div className="choice-note">
        <Choice<Type> label="Type" value={type} options={types} fault={fault('type')} onChange={setType} />
        <p className="small muted">{typeNotes[type]}</p>
      </div>
      {has('unshardedQueues') ? (
        <div className="choice-note">
          <Choice<Kind>
            label="Sharding"
            value={kind}
            options={kinds}
            fault={fault('kind')}
            onChange={setKind}
          />
          <p className="small muted">{kindNotes[kind]}</p>
        </div>
      ) : null}
      <div className="choice-note">
        <Choice<Durability>
          label="Durability"
          value={durability}
          options={durabilities.map((value) => ({ value, label: durabilityLabels[value] }))}
          fault={fault('durability')}
          onChange={setDurability}
        />
        <p className="small muted">{durabilityNote(durability, store)}</p>
      </div>
      {isPlain || !has('priorities') ? null : (
        <CheckField checked={priorities} fault={fault('priorities')} onChange={setPriorities}>
          Priorities 0 to {queueLimits.priorityMax}: higher priorities are delivered first
        </CheckField>
      )}
      {kind === 'unsharded' ? null : (
        <>
          <NumberField
            label="Shards, 1 to 16"
            value={shards}
            fault={fault('shards')}
            placeholder="1"
            onChange={setShards}
          />
          {durability === 'memory' && has('bufferedQueues') ? (
            <CheckField checked={buffered} fault={fault('buffered')} onChange={setBuffered}>
              Buffered: visible and consumed at once, without a commit
            </CheckField>
          ) : null}
          {isBuffered ? (
            <NumberField
              label="Undelivered messages past which enqueues are refused"
              value={messagesMax}
              fault={fault('messagesMax')}
              placeholder="5000"
              onChange={setMessagesMax}
            />
          ) : null}
          {durability === 'memory' || !has('correlationIndex') ? null : (
            <CheckField
              checked={correlationIndex}
              fault={fault('correlationIndex')}
              onChange={setCorrelationIndex}
            >
              Index correlation ids, so that a search does not read the whole backlog
            </CheckField>
          )}
        </>
      )}
      {isBuffered ? null : (
        <NumberField
          label="Delivery attempts before the exception queue"
          value={attempts}
          fault={fault('attemptsMax')}
          placeholder={String(queueLimits.attemptsDefault)}
          onChange={setAttempts}
        />
      )}
      <NumberField
        label="Retry delay, ms (doubles after each attempt)"
        value={retryDelay}
        fault={fault('retryDelayMs')}
        placeholder="none"
        onChange={setRetryDelay}
      />
      <div>
        <button type="submit" className="button button-primary" disabled={create.isPending}>
          Create {type}
        </button>
      </div>
      {rest === null ? null : <ErrorNotice error={rest} />}
    </form>
  );
}
