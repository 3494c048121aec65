import { useMutation, useQueryClient } from '@tanstack/react-query';
import { resumeRun } from '../../api/queries.ts';
import { ErrorNotice } from '../../parts/query-states.tsx';

/** Goes on with an interrupted run; `onResumed` follows its events again. */
export function ResumeRun({ id, onResumed }: { id: string; onResumed(): void }) {
  const client = useQueryClient();
  const resume = useMutation({
    mutationFn: () => resumeRun(id),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ['runs'] });
      onResumed();
    },
  });
  return (
    <>
      <button
        type="button"
        className="button button-primary"
        disabled={resume.isPending || resume.isSuccess}
        onClick={() => resume.mutate()}
      >
        Resume
      </button>
      {resume.error === null ? null : <ErrorNotice error={resume.error} />}
    </>
  );
}
