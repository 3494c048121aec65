import type { RunList } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { deleteRun } from '../../api/queries.ts';
import { ErrorNotice } from '../../parts/query-states.tsx';

/** What is wrong with the history: as a whole, and the runs of these pages that cannot be read. Nothing if all is well. */
export function HistoryNotices({ pages }: { pages: readonly RunList[] }) {
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: deleteRun,
    onSuccess: () => client.invalidateQueries({ queryKey: ['runs'] }),
  });
  const notices = pages.flatMap((page) => page.notices ?? []);
  const damaged = pages.flatMap((page) => page.damaged ?? []);
  if (notices.length + damaged.length === 0) return null;
  return (
    <div className="notice" data-tone="warn" role="status">
      {notices.map((notice) => (
        <p key={notice}>{notice}.</p>
      ))}
      {damaged.map(({ id, damage }) => (
        <p key={id} className="row">
          <span>
            The run {id.slice(0, 8)} cannot be read: {damage}.
          </span>
          <button
            type="button"
            className="button button-quiet"
            disabled={remove.isPending}
            onClick={() => remove.mutate(id)}
          >
            Delete run {id.slice(0, 8)}
          </button>
        </p>
      ))}
      {remove.error === null ? null : <ErrorNotice error={remove.error} />}
    </div>
  );
}
