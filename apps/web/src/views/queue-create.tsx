import type { CreateQueue } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { createQueue } from '../api/queries.ts';
import { Choice } from './choice.tsx';
import { Failure } from './page-states.tsx';

type Kind = NonNullable<CreateQueue['kind']>;
type Durability = NonNullable<CreateQueue['durability']>;

const durabilityNotes: Readonly<Record<Durability, string>> = {
  durable: 'Synced to disk before a commit is acknowledged: survives a power cut.',
  relaxed: 'Written before a commit is acknowledged: survives a killed process, not a power cut.',
  memory: 'Nonpersistent: gone when the server ends.',
};

/** Makes a queue. What is refused is told by the server, in its words. */
export function QueueCreate() {
  const navigate = useNavigate();
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [kind, setKind] = useState<Kind>('sharded');
  const [shards, setShards] = useState('1');
  const [durability, setDurability] = useState<Durability>('durable');
  const create = useMutation({
    mutationFn: () =>
      createQueue({ name, kind, durability, ...(kind === 'sharded' ? { shards: Number(shards) } : {}) }),
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
  return (
    <form className="panel queue-form" aria-labelledby="create-queue" onSubmit={submit}>
      <h2 id="create-queue">Create a queue</h2>
      <label className="field">
        <span>Name</span>
        <input
          className="input"
          value={name}
          required
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <Choice<Kind>
        label="Kind"
        value={kind}
        options={[
          { value: 'sharded', label: 'Sharded' },
          { value: 'unsharded', label: 'Unsharded' },
        ]}
        onChange={setKind}
      />
      {kind === 'sharded' ? (
        <label className="field">
          <span>Shards, 1 to 16</span>
          <input
            className="input"
            type="number"
            min={1}
            max={16}
            value={shards}
            onChange={(event) => setShards(event.target.value)}
          />
        </label>
      ) : null}
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
      <div>
        <button type="submit" className="button button-primary" disabled={create.isPending}>
          Create queue
        </button>
      </div>
      {create.error === null ? null : <Failure error={create.error} />}
    </form>
  );
}
