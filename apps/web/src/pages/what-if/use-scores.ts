import type { Hardware, MeasuredWorkload } from '@shardlab/contract';
import { useEffect, useState } from 'react';
import type { ScoredWorkload } from '../../model/prediction-score.ts';
import type { ScoreRequest, ScoreResponse } from './score-messages.ts';

/** Predicts the workloads with a machine's costs, in a web worker. Returns the predictions so far, in the order of the workloads. */
export function useScores(hardware: Hardware, workloads: readonly MeasuredWorkload[]): ScoredWorkload[] {
  const [scored, setScored] = useState<ScoredWorkload[]>([]);
  // The same machine and runs arrive repeatedly as new objects.
  const text = JSON.stringify({ hardware, workloads });
  useEffect(() => {
    setScored([]);
    const request = JSON.parse(text) as ScoreRequest;
    if (request.workloads.length === 0) return;
    const worker = new Worker(new URL('./score-worker.ts', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data: { index, row } }: MessageEvent<ScoreResponse>) =>
      setScored((before) => [...before, { workload: request.workloads[index]!, row }]);
    worker.postMessage(request);
    return () => worker.terminate();
  }, [text]);
  return scored;
}
