import type { PointParams } from './run.ts';
import type { Rows, Scenario } from './scenario.ts';

/**
 * The parameters of a point besides queue, instances, threads and round trip, in words: "10 subscribers",
 * "1,000 operations per transaction". Parameters that the sweep does not vary are left out, except subscribers.
 */
export function describeParams(params: PointParams, sweep: Scenario['sweep']): string[] {
  const { payloadBytes, operationsPerTransaction, subscribers, backlog, durability } = params;
  const { cacheMiB, rows, dequeuers } = params;
  return [
    ...(subscribers === undefined ? [] : [plural(subscribers, 'subscriber')]),
    ...(sweep.operationsPerTransaction === undefined
      ? []
      : [`${plural(operationsPerTransaction, 'operation')} per transaction`]),
    ...(sweep.payloadBytes === undefined ? [] : [`${number(payloadBytes)} bytes`]),
    ...(backlog === undefined ? [] : [`backlog of ${number(backlog)}`]),
    ...(durability === undefined ? [] : [durability]),
    ...(cacheMiB === undefined ? [] : [`cache of ${number(cacheMiB)} MiB`]),
    ...(rows === undefined ? [] : [rowsDescriptions[rows]]),
    ...(dequeuers === undefined
      ? []
      : [dequeuers === 'same-instance' ? 'dequeuers on the same instance' : 'dequeuers on another instance']),
  ];
}

export const rowsDescriptions: Readonly<Record<Rows, string>> = {
  none: 'no rows',
  together: 'rows in the same transaction',
  separate: 'rows in a separate transaction',
};

const number = (value: number) => value.toLocaleString('en-US');
const plural = (count: number, noun: string) => `${number(count)} ${noun}${count === 1 ? '' : 's'}`;
