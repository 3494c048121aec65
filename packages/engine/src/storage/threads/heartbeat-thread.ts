/** Writes the heartbeats of its process until it is told to end: `heartbeat.ts`. */
import { workerData } from 'node:worker_threads';
import { limits } from '../../api/limits.ts';
import { TurnlessTime } from '../../model/failure-detector.ts';
import { nodeClocks } from '../../node-clocks.ts';
import { LeaseFile } from '../catalog/lease-file.ts';
import { type HeartbeatData, heartbeatWords } from './heartbeat.ts';

const { dir, instance, pid, words: memory } = workerData as HeartbeatData;
const { machineClock, thread } = nodeClocks;
const words = new Int32Array(memory);
const turnless = new TurnlessTime();
let file: LeaseFile | undefined;
do {
  const nowMs = machineClock.nowMs();
  const turnlessMs = turnless.count(nowMs, Atomics.load(words, heartbeatWords.turns));
  try {
    file ??= new LeaseFile(dir);
    file.writeHeartbeat(instance, { pid, expiresAtMs: nowMs + limits.leaseMs, turnlessMs });
  } catch {} // the next one may succeed; if none does for half a minute, the process cannot store anything either
} while (thread.wait(words, heartbeatWords.ended, 0, limits.leaseRenewMs) === 'timed-out');
file?.close();
