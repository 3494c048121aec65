/** The array with another rate and other commits in each trial, whatever the trial asks for. */
import type { OpenHost } from '../../programs/queue/trial/host.ts';
import { openMemoryArray } from './memory-array.ts';

/** Drawn so that each order of magnitude is as likely. */
const between = (low: number, high: number) => low * (high / low) ** Math.random();

export const openHost: OpenHost = async (config, clock) =>
  openMemoryArray(config, clock, {
    operationsPerSec: between(1_000, 1_000_000),
    eachSession: Math.random() < 0.5,
    commitMs: between(1, 20),
  });
