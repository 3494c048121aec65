import type { QueueInfo } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef } from 'react';
import { dropQueue } from '../../api/queries.ts';
import { ErrorNotice } from '../../parts/query-states.tsx';

/** Drops a queue after a confirmation. */
export function DropQueueDialog({ queue: { name, type } }: { queue: QueueInfo }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const navigate = useNavigate();
  const client = useQueryClient();
  const drop = useMutation({
    mutationFn: () => dropQueue(name),
    onSuccess: async () => {
      dialog.current?.close();
      await navigate({ to: '/queues', search: {} });
      await client.invalidateQueries({ queryKey: ['queues'] });
    },
  });
  return (
    <>
      <button type="button" className="button button-danger" onClick={() => dialog.current?.showModal()}>
        Drop {type}
      </button>
      <dialog ref={dialog} className="dialog" aria-labelledby="drop-title">
        <div className="dialog-body">
          <h2 id="drop-title">Drop {name}?</h2>
          <p>The {type} and all messages in it are deleted. This cannot be undone.</p>
          {drop.error === null ? null : <ErrorNotice error={drop.error} />}
          <div className="row">
            <button type="button" className="button" onClick={() => dialog.current?.close()}>
              Keep it
            </button>
            <button
              type="button"
              className="button button-danger"
              disabled={drop.isPending}
              onClick={() => drop.mutate()}
            >
              Drop it
            </button>
          </div>
        </div>
      </dialog>
    </>
  );
}
