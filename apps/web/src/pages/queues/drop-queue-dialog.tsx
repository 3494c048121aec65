import type { QueueInfo } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError } from '../../api/client.ts';
import { dropQueue } from '../../api/queries.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';

/** Drops a queue after a confirmation. */
export function DropQueueDialog({ queue: { name, type, exceptionQueue } }: { queue: QueueInfo }) {
  const [isOpen, setOpen] = useState(false);
  const navigate = useNavigate();
  const client = useQueryClient();
  /** The server has said that the exception queue has messages: the next attempt drops them too. */
  const [hasExceptions, setHasExceptions] = useState(false);
  const drop = useMutation({
    mutationFn: () => dropQueue(name, { withExceptions: hasExceptions }),
    onError: (error) =>
      setHasExceptions(error instanceof ApiError && error.code === 'EXCEPTION_QUEUE_NOT_EMPTY'),
    onSuccess: async () => {
      setOpen(false);
      await navigate({ to: '/queues', search: {} });
      await client.invalidateQueries({ queryKey: ['queues'] });
    },
  });
  const open = () => {
    drop.reset();
    setHasExceptions(false);
    setOpen(true);
  };
  return (
    <>
      <button type="button" className="button button-danger" onClick={open}>
        Drop {type}
      </button>
      <Dialog title={`Drop ${name}?`} isOpen={isOpen} onClose={() => setOpen(false)}>
        <p>
          {exceptionQueue === null
            ? `The ${type} and all messages in it are deleted.`
            : `The ${type}, ${exceptionQueue} and all messages in both are deleted.`}{' '}
          This cannot be undone.
        </p>
        {drop.error === null ? null : <ErrorNotice error={drop.error} />}
        <div className="row">
          <button type="button" className="button" onClick={() => setOpen(false)}>
            Keep it
          </button>
          <button
            type="button"
            className="button button-danger"
            disabled={drop.isPending}
            onClick={() => drop.mutate()}
          >
            {hasExceptions ? 'Drop both' : 'Drop it'}
          </button>
        </div>
      </Dialog>
    </>
  );
}
