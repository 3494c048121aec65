import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { importRun } from '../../api/queries.ts';
import { ErrorNotice } from '../../parts/query-states.tsx';

/** Adds a run from a file that was exported as JSON, and opens it. */
export function ImportRun() {
  const client = useQueryClient();
  const navigate = useNavigate();
  const add = useMutation({
    mutationFn: async (file: File) => importRun(await file.text()),
    onSuccess: async ({ id }) => {
      await client.invalidateQueries({ queryKey: ['runs'] });
      await navigate({ to: '/runs/$runId', params: { runId: id } });
    },
  });
  return (
    <>
      <label className="button import-run">
        Import a run
        <input
          className="visually-hidden"
          type="file"
          accept="application/json,.json"
          disabled={add.isPending}
          onChange={(event) => {
            const [file] = event.target.files ?? [];
            if (file !== undefined) add.mutate(file);
            event.target.value = '';
          }}
        />
      </label>
      {add.error === null ? null : <ErrorNotice error={add.error} />}
    </>
  );
}
