/** The steps of a conversion as they are shown: what each is, and whether it is done, under way or yet to come. */
import type { Conversion, ConversionStep, QueueInfo } from '@shardlab/contract';
import { formatMs, plural } from './format.ts';

export interface ShownStep {
  step: ConversionStep;
  label: string;
  state: 'done' | 'current' | 'due';
  /** How long it took, or what it waits for; empty where there is nothing to say. */
  note: string;
}

const labels: Readonly<Record<ConversionStep, string>> = {
  'stop-enqueue': 'Stop enqueue',
  drain: 'Drain',
  'stop-dequeue': 'Stop dequeue',
  'check-empty': 'Check that it is empty',
  drop: 'Drop what its table has of it',
  'size-cache': 'Size the message cache',
  create: 'Create the sharded queue under its name',
  start: 'Start enqueue and dequeue',
};

export function shownSteps({ steps, stage, startedAtMs }: Conversion, queue: QueueInfo): ShownStep[] {
  let beforeMs = startedAtMs;
  return steps.map(({ step, passedAtMs }) => {
    const label = labels[step];
    if (passedAtMs === null) {
      const isCurrent = step === stage;
      const note = isCurrent && step === 'drain' ? leftInWords(queue) : '';
      return { step, label, state: isCurrent ? 'current' : 'due', note };
    }
    const note = formatMs(Math.max(0, passedAtMs - beforeMs));
    beforeMs = passedAtMs;
    return { step, label, state: 'done', note };
  });
}

function leftInWords({ ready, held }: QueueInfo): string {
  if (ready + held === 0) return '';
  const words = [
    ...(ready > 0 ? [`${plural(ready, 'message')} to dequeue`] : []),
    ...(held > 0 ? [`${plural(held, 'message')} held by consumers`] : []),
  ];
  return words.join(', ');
}

/** How long it took in all, once it is done. */
export function tookMs({ steps, startedAtMs }: Conversion): number {
  return (steps.at(-1)?.passedAtMs ?? startedAtMs) - startedAtMs;
}
