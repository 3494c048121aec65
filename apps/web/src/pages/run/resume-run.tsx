import { useQueryClient } from '@tanstack/react-query';
import { resumeRun } from '../../api/queries.ts';
import { BusyQuestion } from '../../parts/busy-dialog.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { useAskFirst } from '../../parts/use-ask-first.ts';

/** Resumes an interrupted run; `onResumed` follows its events again. Asks first if the machine is busy with something else. */
export function ResumeRun({ id, onResumed }: { id: string; onResumed(): void }) {
  const client = useQueryClient();
  const resume = useAskFirst({
    begin: () => resumeRun(id),
    onBegun() {
      void client.invalidateQueries({ queryKey: ['runs'] });
      onResumed();
    },
  });
  return (
    <>
      <button
        type="button"
        className="button button-primary"
        disabled={resume.isPending || resume.isBegun}
        onClick={() => resume.ask()}
      >
        Resume
      </button>
      {resume.error === null ? null : <ErrorNotice error={resume.error} />}
      <BusyQuestion {...resume.question} />
    </>
  );
}
