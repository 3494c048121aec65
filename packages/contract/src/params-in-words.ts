import type { PointParams } from './run.ts';
import type { Rows, Scenario } from './scenario.ts';

/**
 * What tells one point of a sweep from another beside queue, instances, threads and round trip: "10 subscribers",
 * "1,000 operations a transaction". What the sweep does not vary is left out, but for the subscribers of a topic.
 */
export function paramsInWords(params: PointParams, sweep: Scenario['sweep']): string[] {
  const { payloadBytes, operationsPerTransaction, subscribers, backlog, durability } = params;
  const { cacheMiB, rows, dequeuers } = params;
  return [
    ...(subscribers === undefined ? [] : [plural(subscribers, 'subscriber')]),
    ...(sweep.operationsPerTransaction === undefined
      ? []
      : [`${plural(operationsPerTransaction, 'operation')} a transaction`]),
    ...(sweep.payloadBytes === undefined ? [] : [`${number(payloadBytes)} bytes`]),
    ...(backlog === undefined ? [] : [`backlog of ${number(backlog)}`]),
    ...(durability === undefined ? [] : [durability]),
    ...(cacheMiB === undefined ? [] : [`cache of ${number(cacheMiB)} MiB`]),
    ...(rows === undefined ? [] : [rowsInWords[rows]]),
    ...(dequeuers === undefined ? [] : [`dequeuers ${dequeuers}`]),
  ];
}

export const rowsInWords: Readonly<Record<Rows, string>> = {
  none: 'no rows',
  together: 'rows in the same transaction',
  apart: 'rows in a transaction of their own',
};

const number = (value: number) => value.toLocaleString('en-US');
const plural = (count: number, noun: string) => `${number(count)} ${noun}${count === 1 ? '' : 's'}`;
