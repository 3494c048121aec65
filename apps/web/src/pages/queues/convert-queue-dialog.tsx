import { type Convert, type QueueInfo, queueLimits } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { startConversion } from '../../api/queries.ts';
import { convertFields, givenFields, typedNumber } from '../../model/queue-form-fields.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { NumberField } from '../../parts/field.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { useFormFaults } from '../../parts/use-form-faults.ts';

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
  const open = () => {
    convert.reset();
    setOpen(true);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    convert.mutate(
      givenFields({
        shards: typedNumber(shards),
        attemptsMax: typedNumber(attempts),
        cacheMiB: typedNumber(cacheMiB),
      }),
    );
  };
  const { form, fault, rest } = useFormFaults(convert.error, convertFields);
  return (
    <>
      <button type="button" className="button" onClick={open}>
        Convert to sharded…
      </button>
      <Dialog title={`Convert ${name} to sharded?`} isOpen={isOpen} onClose={() => setOpen(false)}>
        <form ref={form} className="dialog-body" aria-label="Convert" noValidate onSubmit={submit}>
          <p>
            Enqueue stops: clients get an error that they can retry. Once consumers have emptied the queue, a
            sharded queue with the same name and durability replaces it. Until then you can cancel.
          </p>
          <div className="form-row">
            <NumberField
              label="Shards per instance"
              value={shards}
              fault={fault('shards')}
              placeholder="1"
              onChange={setShards}
            />
            <NumberField
              label="Maximum delivery attempts"
              value={attempts}
              fault={fault('attemptsMax')}
              placeholder={String(queueLimits.attemptsDefault)}
              onChange={setAttempts}
            />
            <NumberField
              label="Message cache, MiB"
              value={cacheMiB}
              fault={fault('cacheMiB')}
              placeholder="unchanged"
              onChange={setCacheMiB}
            />
          </div>
          {rest === null ? null : <ErrorNotice error={rest} />}
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
