/** Waiting for the answer of another instance, recorded as a wait event. */
import type { WaitEvent } from '../../api/waits.ts';
import type { Ports } from '../../model/ports.ts';
import type { RecordedTime, WaitRecorder } from '../../model/wait-recorder.ts';

export interface AnswerRecorder {
  waits: Pick<WaitRecorder, 'record'>;
  ports: Pick<Ports, 'clock'>;
}

/** `time`: of the session that waits. Without one the wait is recorded for the instance alone. */
export async function recordedAnswer<T>(
  answer: Promise<T>,
  event: WaitEvent,
  { waits, ports, time }: AnswerRecorder & { time: RecordedTime | undefined },
): Promise<T> {
  const startMs = ports.clock.monotonicMs();
  time?.begin(event);
  try {
    return await answer;
  } finally {
    if (time === undefined) waits.record(event, ports.clock.monotonicMs() - startMs);
    else time.end();
  }
}
