/** Which process had the service when, as a lane for each process's instance. */
import type { Swimlane } from '@shardlab/contract';
import type { SingletonResult } from './singleton-job.ts';

const usPerMs = 1_000;

/**
 * A span is one activation, named by its epoch. It is "called" when the previous one had ended as far as is known, and "got" when
 * it began; the time between is the gap. Times count from the start of the trial.
 */
export function ownershipLanes({ history, journal, startedAtMs, endedAtMs }: SingletonResult): Swimlane[] {
  const us = (ms: number) => Math.max(0, ms - startedAtMs) * usPerMs;
  const lastSignMs = (epoch: number, fallbackMs: number) =>
    Math.max(
      fallbackMs,
      ...journal.filter((line) => line.epoch === epoch && line.what !== 'refused').map(({ atMs }) => atMs),
    );
  const spans = history.map(({ host, epoch, activatedAtMs, deactivatedAtMs }) => ({
    host,
    epoch,
    fromMs: activatedAtMs,
    toMs: deactivatedAtMs ?? lastSignMs(epoch, activatedAtMs),
  }));
  const lanes = Map.groupBy(
    spans.map((span, index) => ({ ...span, freeMs: spans[index - 1]?.toMs ?? span.fromMs })),
    ({ host }) => host,
  );
  return [...lanes]
    .toSorted(([a], [b]) => a - b)
    .map(([host, all]) => ({
      session: host,
      outcome: 'had the service' as const,
      spans: all.map(({ epoch, fromMs, toMs, freeMs }) => ({
        kind: `epoch ${epoch}`,
        calledUs: us(Math.min(freeMs, fromMs)),
        gotUs: us(fromMs),
        endedUs: us(Math.min(toMs, endedAtMs)),
      })),
    }));
}
