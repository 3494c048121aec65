/**
 * Kills its own process when a statement of the application runs too long or takes too much memory, or when the process that
 * started this one is gone. `statement-watchdog.ts` starts it and publishes the running statement in shared memory, because the
 * main thread is busy inside SQLite.
 */
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { limits } from '../../api/limits.ts';
import { nodeClocks } from '../../node-clocks.ts';
import { encodeFrame } from './process-frames.ts';
import type { WriterProcessReply } from './process-messages.ts';
import { outputDescriptor } from './process-messages.ts';
import { killedState, type WatchdogData, watchViews, watchWords } from './statement-watchdog.ts';

const { memory, parentPid } = workerData as WatchdogData;
const { machineClock } = nodeClocks;
const { control, armedAtMs } = watchViews(memory);
const runningMsMax = limits.sqlExecutionMsMax + limits.sqlKillGraceMs;

/** Why the running statement has to be killed; undefined if it may continue. */
function reasonToKill(): 'time' | 'memory' | 'orphan' | undefined {
  if (process.ppid !== parentPid) return 'orphan';
  if (machineClock.nowMs() - armedAtMs[0]! > runningMsMax) return 'time';
  return process.memoryUsage.rss() > limits.sqlMemoryBytesMax ? 'memory' : undefined;
}

/** Checks without a statement after which it sleeps until there is one: a second. */
const idleChecksMax = 1_000 / limits.sqlCheckMs;

function watch(): never {
  let idleChecks = 0;
  for (;;) {
    const state = Atomics.load(control, watchWords.state);
    const runs = state % 2 !== 0;
    idleChecks = runs ? 0 : idleChecks + 1;
    const reason = runs ? reasonToKill() : undefined;
    // From here on the main thread stops even if its statement returns, so a killed transaction never commits.
    if (
      reason !== undefined &&
      Atomics.compareExchange(control, watchWords.state, state, killedState) === state
    )
      killProcess(reason);
    if (idleChecks < idleChecksMax) Atomics.wait(control, watchWords.state, state, limits.sqlCheckMs);
    else {
      Atomics.store(control, watchWords.asleep, 1);
      Atomics.wait(control, watchWords.state, state);
      Atomics.store(control, watchWords.asleep, 0);
    }
  }
}

function killProcess(reason: 'time' | 'memory' | 'orphan'): void {
  if (reason !== 'orphan') {
    const { sqlExecutionMsMax: msMax, sqlMemoryBytesMax: memoryBytesMax } = limits;
    const transaction = Atomics.load(control, watchWords.transaction);
    const statement = Atomics.load(control, watchWords.statement);
    const killed: WriterProcessReply =
      reason === 'time'
        ? { kind: 'killing', transaction, code: 'SQL_TOO_SLOW', details: { msMax, statement } }
        : { kind: 'killing', transaction, code: 'SQL_TOO_LARGE', details: { memoryBytesMax, statement } };
    writeSync(outputDescriptor, encodeFrame(killed));
  }
  process.kill(process.pid, 'SIGKILL');
}

Atomics.store(control, watchWords.ready, 1);
Atomics.notify(control, watchWords.ready);
watch();
