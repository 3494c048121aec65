import { type QueueInfo, queueLimits } from '@shardlab/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { redrive } from '../../api/queries.ts';
import { plural } from '../../model/format.ts';
import { givenFields, redriveFields, typedNumber } from '../../model/queue-form-fields.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { NumberField, TextField } from '../../parts/field.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { useFormFaults } from '../../parts/use-form-faults.ts';

export interface RedriveDialogProps {
  exceptions: QueueInfo;
  source: QueueInfo;
}

/** Moves the messages of an exception queue back to its queue, or to another one. */
export function RedriveDialog({ exceptions, source }: RedriveDialogProps) {
  const [isOpen, setOpen] = useState(false);
  const [moved, setMoved] = useState<number | null>(null);
  const client = useQueryClient();
  const onMoved = async (messages: number) => {
    setMoved(messages);
    setOpen(false);
    await client.invalidateQueries({ queryKey: ['queues'] });
  };
  return (
    <>
      <p className="row">
        <button
          type="button"
          className="button"
          disabled={exceptions.ready === 0}
          onClick={() => setOpen(true)}
        >
          Move back to {source.name}
        </button>
        <span className="small" role="status">
          {moved === null ? '' : `${plural(moved, 'message')} moved.`}
        </span>
      </p>
      <Dialog title={`Move messages back to ${source.name}?`} isOpen={isOpen} onClose={() => setOpen(false)}>
        <RedriveForm from={exceptions} to={source} onMoved={onMoved} onCancel={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

interface RedriveFormProps {
  from: QueueInfo;
  to: QueueInfo;
  onMoved(messages: number): Promise<void>;
  onCancel(): void;
}

/** A dry run shows what would be moved, and is repeated after each change: nothing is moved that was not counted before. */
function RedriveForm({ from, to: source, onMoved, onCancel }: RedriveFormProps) {
  const [to, setTo] = useState(source.name);
  const [max, setMax] = useState(String(queueLimits.messagesPerCallMax));
  const typed = givenFields({ to, max: typedNumber(max) });
  const [counted, setCounted] = useState(typed);
  const isCounted = counted.to === typed.to && counted.max === typed.max;
  const dryRun = useQuery({
    queryKey: ['queues', from.name, 'redrive', counted],
    queryFn: () => redrive(from.name, { ...counted, dryRun: true }),
    staleTime: 0,
  });
  const move = useMutation({
    mutationFn: () => redrive(from.name, typed),
    onSuccess: ({ messages }) => onMoved(messages),
  });
  const { form, fault, rest } = useFormFaults(move.error ?? dryRun.error, redriveFields);
  const planned = isCounted ? dryRun.data : undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    move.reset();
    if (planned !== undefined) move.mutate();
    else if (isCounted) void dryRun.refetch();
    else setCounted(typed);
  };
  return (
    <form ref={form} className="dialog-body" aria-label="Move" noValidate onSubmit={submit}>
      <p>Moved messages become new messages of the other queue; their attempts are counted from 1.</p>
      <div className="form-row">
        <TextField label="To the queue" value={to} required fault={fault('to')} onChange={setTo} />
        <NumberField
          label="At most, in one transaction"
          value={max}
          placeholder="100"
          fault={fault('max')}
          onChange={setMax}
        />
      </div>
      <p role="status">
        {planned === undefined
          ? dryRun.isFetching
            ? 'Counting…'
            : ''
          : `${plural(planned.messages, 'message')} would be moved in one transaction${planned.left > 0 ? `; ${plural(planned.left, 'message')} would remain here` : ''}.`}
      </p>
      {rest === null ? null : <ErrorNotice error={rest} />}
      <div className="row">
        <button type="button" className="button" onClick={onCancel}>
          Leave them here
        </button>
        <button
          type="submit"
          className="button button-primary"
          disabled={dryRun.isFetching || move.isPending || planned?.messages === 0}
        >
          {planned === undefined
            ? 'Count what would be moved'
            : `Move ${plural(planned.messages, 'message')}`}
        </button>
      </div>
    </form>
  );
}
