import { type Convert, conversionLimits, type QueueInfo, queueLimits } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { startConversion } from '../../api/queries.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { NumberField } from '../../parts/field.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';

const parseNumber = (text: string) => (text === '' ? undefined : Number(text));

/** Explains the conversion of an unsharded queue, then starts it. */
export function ConvertQueueDialog({ queue: { name } }: { queue: QueueInfo }) {
  const [isOpen, setOpen] = useState(false);
  const client = useQueryClient();
  const [shards, setShards] = useState('1');
  const [attempts, setAttempts] = useState('');
  const [cacheMiB, setCacheMiB] = useState('');
  const convert = useMutation({
    mutationFn: (options: Convert) => startConversion(name, options),
    onSuccess: async () => {
      setOpen(false);
      await client.invalidateQueries({ queryKey: ['queues'] });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const given = {
      shards: parseNumber(shards),
      attemptsMax: parseNumber(attempts),
      cacheMiB: parseNumber(cacheMiB),
    };
    convert.mutate(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)));
  };
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        Convert to sharded…
      </button>
      <Dialog title={`Convert ${name} to sharded?`} isOpen={isOpen} onClose={() => setOpen(false)}>
        <form className="dialog-body" onSubmit={submit}>
          <p>
            Enqueue stops: clients get an error that they can retry. Once consumers have emptied the queue, a
            sharded queue with the same name and durability replaces it. Until then you can cancel.
          </p>
          <div className="form-row">
            <NumberField label="Shards per instance" value={shards} min={1} max={16} onChange={setShards} />
            <NumberField
              label="Maximum delivery attempts"
              value={attempts}
              min={1}
              max={queueLimits.attemptsMax}
              placeholder="no limit"
              onChange={setAttempts}
            />
            <NumberField
              label="Message cache, MiB"
              value={cacheMiB}
              min={conversionLimits.cacheMiBMin}
              max={conversionLimits.cacheMiBMax}
              placeholder="unchanged"
              onChange={setCacheMiB}
            />
          </div>
          {convert.error === null ? null : <ErrorNotice error={convert.error} />}
          <div className="row">
            <button type="button" className="button" onClick={() => setOpen(false)}>
              Keep it unsharded
            </button>
            <button type="submit" className="button button-primary" disabled={convert.isPending}>
              Convert
            </button>
          </div>
        </form>
      </Dialog>
    </>
  );
}
