/** The client process of a trial of the program `xa`: hosts the instances too if sessions are embedded. */
import { setTimeout as pause } from 'node:timers/promises';
import { preparesPassedOn, QueueError } from '@shardlab/engine';
import { DeliveryOrder, Ledger, type LedgerReport } from '../../integrity/ledger.ts';
import { PayloadCodec } from '../../integrity/payload.ts';
import { addTimes, timesBetween } from '../../meters/session-times.ts';
import { waitsBetween } from '../../meters/wait-totals.ts';
import { cpuUsOfTrees } from '../../systems/driver/process-cpu.ts';
import { RoundTrips } from '../../trial/round-trips.ts';
import { bindToTrial, failTrial, sendToTrial } from '../client-failure.ts';
import { firstOfFolders, passesCallsOn } from './folders.ts';
import { openInstances, type XaInstances } from './instances.ts';
import { formatId, Loop } from './loops.ts';
import { assertRows, createTables } from './rows.ts';
import type { FromXaHost, ToXaHost, XaJob, XaResult } from './xa-job.ts';
import { queueOf, XaClientSession } from './xa-session.ts';

/** Messages of a commit that fills or empties a queue. */
const batch = 100;

async function runJob(job: XaJob): Promise<void> {
  const instances = await openInstances(job);
  const result = await measure(instances, job);
  await instances.close();
  sendToTrial<FromXaHost>({ type: 'result', result });
}

async function measure(instances: XaInstances, job: XaJob): Promise<XaResult> {
  const { params, seed, nonce, serverPids } = job;
  const codec = new PayloadCodec({ bytes: params.payloadBytes, seed, nonce });
  const ledger = new Ledger(codec);
  for (const instance of firstOfFolders(params, instances.all))
    for (let each = 0; each < params.sessions; each += 1) await instance.createQueue({ name: queueOf(each) });
  if (params.work === 'insert') await createTables(instances, params);
  if (params.work === 'dequeue') await fill(instances, job, ledger, codec);
  if (passesCallsOn(params)) await connectInstances(instances);
  const emulated = new Set(
    (await instances.waits()).filter((event) => event.emulated).map(({ event }) => event),
  );
  const { roundTripMs: ms } = params;
  const roundTrips = ms === 0 ? null : new RoundTrips({ ms, clock: () => performance.now() });
  const sessions = Array.from(
    { length: params.sessions },
    (_, number) =>
      new XaClientSession({
        number,
        instances,
        roundTrips,
        params,
        isEmulated: (event) => emulated.has(event),
      }),
  );
  const loops = loopsOf(sessions, { params, codec, ledger });
  const passedOnBefore = await instances.counted(preparesPassedOn);
  const roundTripsBefore = sum(sessions, ({ roundTrips: sent }) => sent);
  const [waitsBefore, timesBefore] = [await instances.waits(), instances.times()];
  const [cpuBefore, serverCpuBefore] = [process.cpuUsage(), cpuUsOfTrees(serverPids)];
  const startMs = performance.now();
  await Promise.all(loops.map((loop) => loop.run()));
  const elapsedMs = performance.now() - startMs;
  const cpu = process.cpuUsage(cpuBefore);
  const serverCpu = cpuUsOfTrees(serverPids);
  const waits = waitsBetween(waitsBefore, await instances.waits());
  const times = timesBetween(timesBefore, instances.times());
  const passedOnAfter = await instances.counted(preparesPassedOn);
  const roundTripsAfter = sum(sessions, ({ roundTrips: sent }) => sent);
  const serverCpuUs =
    serverCpu === null || serverCpuBefore === null || serverPids.length === 0
      ? null
      : serverCpu - serverCpuBefore;
  const sessionWaits = sessions.map((session) => ({
    ...session.waits(),
    cpuOf: job.place === 'embedded' ? ('client and engine' as const) : ('client' as const),
    ...(serverCpuUs === null ? {} : { instanceCpuMs: serverCpuUs / 1_000 / sessions.length }),
  }));
  const calls = sum(sessions, (session) => session.calls)!;
  for (const session of sessions) await session.close();
  const inDoubt = await Promise.all(instances.all.map(async ({ xa }) => (await xa.recover()).length));
  if (params.work === 'insert') await assertRows(instances, params);
  const ledgers = await drain(instances, job, ledger);
  return {
    elapsedMs,
    counts: {
      transactions: loops.length * params.messagesPerSession,
      calls,
      roundTrips: roundTripsBefore === null ? null : roundTripsAfter! - roundTripsBefore,
      readOnlyVotes: sum(loops, ({ readOnlyVotes }) => readOnlyVotes)!,
      activeTogether: sum(loops, ({ activeTogether }) => activeTogether)!,
      preparesPassedOn: passedOnAfter - passedOnBefore,
    },
    waits,
    times: addTimes([times]),
    cpuUs: cpu.user + cpu.system,
    serverCpuUs,
    inDoubt: inDoubt.reduce((total, count) => total + count, 0),
    sessionWaits,
    sequence: loops[0]!.sequence,
    ledgers,
  };
}

/** Attempts to reach another instance before anything is measured, and the pause between them. */
const connectAttempts = 100;
const connectRetryMs = 100;

/** Connects each instance to all others. On a busy machine that can take longer than the first call of a branch would wait. */
async function connectInstances({ all }: XaInstances): Promise<void> {
  for (const [index, from] of all.entries())
    for (const [to] of all.entries()) if (to !== index) await connectTo(from, to + 1);
}

/** Makes a call about a branch that does not exist, until the other instance answers so. */
async function connectTo({ xa }: XaInstances['all'][number], instance: number): Promise<void> {
  const unknown = { formatId, gtrid: Buffer.from('lab.connect'), bqual: Buffer.from([instance]) };
  for (let attempt = 1; ; attempt += 1) {
    try {
      await xa.rollback(unknown, { instance });
    } catch (error) {
      const code = error instanceof QueueError ? error.code : undefined;
      if (code === 'XAER_NOTA') return;
      if (code !== 'XAER_RMFAIL' || attempt === connectAttempts) throw error;
      await pause(connectRetryMs);
    }
  }
}

/** Null if one of the values is. */
function sum<T>(of: readonly T[], value: (each: T) => number | null): number | null {
  let total = 0;
  for (const each of of) {
    const more = value(each);
    if (more === null) return null;
    total += more;
  }
  return total;
}

function loopsOf(
  sessions: readonly XaClientSession[],
  context: ConstructorParameters<typeof Loop>[2],
): Loop[] {
  const each = context.params.transaction === 'two-branches' ? 2 : 1;
  return Array.from(
    { length: sessions.length / each },
    (_, number) => new Loop(number, sessions.slice(number * each, (number + 1) * each), context),
  );
}

/** Enqueues all messages that the sessions will dequeue, each at the instance of its session. */
async function fill(
  { all }: XaInstances,
  { params: { sessions, messagesPerSession } }: XaJob,
  ledger: Ledger,
  codec: PayloadCodec,
): Promise<void> {
  for (let enqueuer = 0; enqueuer < sessions; enqueuer += 1) {
    const session = all[enqueuer % all.length]!.openSession();
    for (let sequence = 0; sequence < messagesPerSession; ) {
      for (let each = 0; each < batch && sequence < messagesPerSession; each += 1, sequence += 1)
        session.enqueue(queueOf(enqueuer), {
          payload: codec.make({ enqueuer, sequence, sentAtMs: performance.now() }),
        });
      await session.commit();
    }
    ledger.recordCommitted(enqueuer, messagesPerSession);
    await session.close();
  }
}

/** Consumes what is in the queues of each instance, and records what cannot be consumed. */
async function drain({ all }: XaInstances, { params }: XaJob, ledger: Ledger): Promise<LedgerReport[]> {
  for (let number = 0; number < params.sessions; number += 1) {
    const order = new DeliveryOrder();
    for (const instance of all) {
      const session = instance.openSession();
      for (;;) {
        const messages = await session.dequeue(queueOf(number), { max: batch, waitMs: 0 });
        if (messages.length === 0) break;
        const identities = messages.map((message) => ledger.recordDelivery(message, order));
        await session.commit();
        for (const identity of identities) if (identity !== null) ledger.recordConsumed(identity);
      }
      await session.close();
      const { messages } = await instance.browse(queueOf(number), { limit: 1_000 });
      for (const message of messages) ledger.recordRemaining(message);
    }
  }
  return [ledger.report()];
}

bindToTrial();
process.once('message', ({ job }: ToXaHost) => {
  runJob(job).catch(failTrial);
});
