import { useMemo } from 'react';
import { RunStream } from '../api/run-stream.ts';

/** The stream of one run, kept while the component shows this run. */
export const useRunStream = (runId: string): RunStream => useMemo(() => new RunStream(runId), [runId]);
