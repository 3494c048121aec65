/** The steps of a conversion for display: a label, the state and a note for each. */
import type { Conversion, ConversionStep, QueueInfo } from '@shardlab/contract';
import { formatMs, plural } from './format.ts';

export interface ShownStep {
  step: ConversionStep;
  label: string;
  state: 'done' | 'current' | 'pending';
  /** How long the step took, or what it waits for; may be empty. */
  note: string;
}

const labels: Readonly<Record<ConversionStep, string>> = {
  'stop-enqueue': 'Stop enqueue',
  drain: 'Drain',
  'stop-dequeue': 'Stop dequeue',
  'check-empty': 'Check that the queue is empty',
  drop: 'Drop the unsharded queue',
  'size-cache': 'Size the message cache',
  create: 'Create the sharded queue under the same name',
  start: 'Start enqueue and dequeue',
};

export function shownSteps({ steps, stage, startedAtMs }: Conversion, queue: QueueInfo): ShownStep[] {
  let previousMs = startedAtMs;
  return steps.map(({ step, passedAtMs }) => {
    const label = labels[step];
    if (passedAtMs === null) {
      const isCurrent = step === stage;
      const note = isCurrent && step === 'drain' ? describeRemaining(queue) : '';
      return { step, label, state: isCurrent ? 'current' : 'pending', note };
    }
    const note = formatMs(Math.max(0, passedAtMs - previousMs));
    previousMs = passedAtMs;
    return { step, label, state: 'done', note };
  });
}

function describeRemaining({ ready, held }: QueueInfo): string {
  if (ready + held === 0) return '';
  const words = [
    ...(ready > 0 ? [`${plural(ready, 'message')} to dequeue`] : []),
    ...(held > 0 ? [`${plural(held, 'message')} held by consumers`] : []),
  ];
  return words.join(', ');
}

/** Duration of a finished conversion, from its start to its last step. */
export function tookMs({ steps, startedAtMs }: Conversion): number {
  return (steps.at(-1)?.passedAtMs ?? startedAtMs) - startedAtMs;
}
