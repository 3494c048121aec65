import type { CalibrationAnswer } from '@shardlab/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import {
  calibrationQuery,
  cancelCalibration,
  hardwareQuery,
  readMachine,
  startCalibration,
} from '../../api/queries.ts';
import { reasonsNotToCalibrate } from '../../model/machine-words.ts';

/**
 * The calibration of the server's machine. `ask` checks the machine first, and calls `onBusy` instead of starting if it is busy
 * with something else. Once a calibration that the page has seen under way is done, the machines are read anew and `onDone` is
 * called.
 */
export function useCalibration({ onBusy, onDone }: { onBusy(): void; onDone(): void }) {
  const client = useQueryClient();
  const { data, error } = useQuery(calibrationQuery);
  const calibration = data?.calibration ?? null;
  const answered = {
    onSuccess: (answer: CalibrationAnswer) => client.setQueryData(calibrationQuery.queryKey, answer),
  };
  const started = useMutation({ mutationFn: startCalibration, ...answered });
  const cancelled = useMutation({ mutationFn: cancelCalibration, ...answered });
  const asked = useMutation({
    mutationFn: async () => reasonsNotToCalibrate(await readMachine()),
    onSuccess: (reasons) => (reasons.length === 0 ? started.mutate() : onBusy()),
  });
  const state = calibration?.state ?? null;
  const before = useRef(state);
  const done = useRef(onDone);
  done.current = onDone;
  useEffect(() => {
    const wasRunning = before.current === 'running';
    before.current = state;
    if (!wasRunning || state !== 'done') return;
    void client.refetchQueries({ queryKey: hardwareQuery.queryKey }).then(() => done.current());
  }, [state, client]);
  return {
    calibration,
    expectedMs: data?.expectedMs ?? null,
    ask: () => asked.mutate(),
    start: () => started.mutate(),
    cancel: () => cancelled.mutate(),
    reasons: asked.data ?? [],
    isPending: asked.isPending || started.isPending,
    error: error ?? asked.error ?? started.error ?? cancelled.error,
  };
}
