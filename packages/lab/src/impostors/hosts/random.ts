/** The array with a rate and a time of commits that are drawn for each trial, whatever its parameters are. */
import type { OpenHost } from '../../programs/queue/trial/host.ts';
import { openMemoryArray } from './memory-array.ts';

/** Each order of magnitude is as likely. */
const between = (low: number, high: number) => low * (high / low) ** Math.random();

export const openHost: OpenHost = async (config, clock) =>
  openMemoryArray(config, clock, {
    operationsPerSec: between(10_000, 1_000_000),
    eachSession: Math.random() < 0.5,
    commitMs: between(1, 20),
  });
