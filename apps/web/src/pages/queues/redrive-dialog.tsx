import type { QueueInfo } from '@shardlab/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { redrive } from '../../api/queries.ts';
import { plural } from '../../model/format.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';

/** Messages in one transaction. */
const batch = 1_000;

/** Moves the messages of an exception queue back to its queue, after a dry run has said how many. */
export function RedriveDialog({
  exceptions: { name, ready },
  source,
}: {
  exceptions: QueueInfo;
  source: QueueInfo;
}) {
  const [isOpen, setOpen] = useState(false);
  const client = useQueryClient();
  const dryRun = useQuery({
    queryKey: ['queues', name, 'redrive'],
    queryFn: () => redrive(name, { max: batch, dryRun: true }),
    enabled: isOpen,
    staleTime: 0,
  });
  const move = useMutation({
    mutationFn: () => redrive(name, { max: batch }),
    onSuccess: async () => {
      setOpen(false);
      await client.invalidateQueries({ queryKey: ['queues'] });
    },
  });
  const planned = dryRun.data;
  const error = dryRun.error ?? move.error;
  return (
    <>
      <p className="row">
        <button type="button" className="button" disabled={ready === 0} onClick={() => setOpen(true)}>
          Move back to {source.name}
        </button>
        <span className="small" role="status">
          {move.data === undefined ? '' : `${plural(move.data.messages, 'message')} moved.`}
        </span>
      </p>
      <Dialog title={`Move messages back to ${source.name}?`} isOpen={isOpen} onClose={() => setOpen(false)}>
        <p>
          {planned === undefined
            ? 'Counting…'
            : `${plural(planned.messages, 'message')} would be moved in one transaction${planned.left > 0 ? `; ${plural(planned.left, 'message')} would remain here` : ''}.`}{' '}
          There they are new messages, whose attempts are counted from 1.
        </p>
        {error === null ? null : <ErrorNotice error={error} />}
        <div className="row">
          <button type="button" className="button" onClick={() => setOpen(false)}>
            Leave them here
          </button>
          <button
            type="button"
            className="button button-primary"
            disabled={planned === undefined || planned.messages === 0 || move.isPending}
            onClick={() => move.mutate()}
          >
            Move {planned === undefined ? 'them' : plural(planned.messages, 'message')}
          </button>
        </div>
      </Dialog>
    </>
  );
}
