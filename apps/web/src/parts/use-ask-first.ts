import type { Id } from '@shardlab/contract';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { readMachine } from '../api/queries.ts';
import { reasonsToAsk } from '../model/machine-words.ts';

/**
 * Begins a run after checking the machine: if it is busy with something else, the `question` has reasons, and the run begins if
 * the user confirms. `onBegun` is called with its id.
 */
export function useAskFirst(options: { begin(): Promise<Id>; onBegun(runId: string): void }) {
  const [reasons, setReasons] = useState<readonly string[]>([]);
  const begun = useMutation({ mutationFn: options.begin, onSuccess: ({ id }) => options.onBegun(id) });
  const looked = useMutation({
    mutationFn: async () => reasonsToAsk(await readMachine()),
    onSuccess: (found) => {
      if (found.length === 0) begun.mutate();
      else setReasons(found);
    },
  });
  return {
    ask: () => looked.mutate(),
    question: { reasons, onContinue: () => begun.mutate(), onClose: () => setReasons([]) },
    isPending: looked.isPending || begun.isPending,
    isBegun: begun.isSuccess,
    error: looked.error ?? begun.error,
  };
}
