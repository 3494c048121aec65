/** The built-in services, a timer and a folder poller: each tick and each file becomes one message, over restarts too. */
import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ServiceContext } from '../../src/api/service.ts';
import { type Json, type Message, QueueError, type ServiceSpec } from '../../src/index.ts';
import type { InstancePorts } from '../../src/model/ports.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { assembleInstance } from '../../src/runtime/assemble-instance.ts';
import type { LocalInstance } from '../../src/runtime/local-instance.ts';
import { createTimer } from '../../src/singletons/built-in/timer.ts';
import { makeFolder } from '../folder.ts';
import { waiting } from '../waiting.ts';

const secondMs = 1_000;
/** How long the applier of the redo log waits for more groups. */
const applyMs = 100;

/** A wall clock that a test sets. Pausing services read it again when it is set. */
class SetClock {
  #nowMs = Date.UTC(2026, 0, 1, 0, 0, 0, 500);
  readonly #pauses = new Set<() => void>();
  /** Lengths of the pauses so far, and of timers of the engine that are no longer. */
  readonly pausesMs: number[] = [];
  readonly ports: InstancePorts = {
    ...nodePorts,
    clock: { ...nodePorts.clock, epochMs: () => this.#nowMs },
    timers: {
      ...nodePorts.timers,
      after: (ms, callback) => {
        // Only pauses of the timer service use this clock, which last at most until its next tick. Timers of the engine are not changed.
        if (ms > secondMs || ms === applyMs) return nodePorts.timers.after(ms, callback);
        this.pausesMs.push(ms);
        this.#pauses.add(callback);
        return { cancel: () => void this.#pauses.delete(callback) };
      },
    },
  };

  set(iso: string): void {
    this.#nowMs = Date.parse(iso);
    const pauses = [...this.#pauses];
    this.#pauses.clear();
    for (const resume of pauses) resume();
  }
}

async function open(dir: string, spec: ServiceSpec, ports: InstancePorts): Promise<LocalInstance> {
  const instance = await assembleInstance(1, { dir, services: [spec] }, { onClosed: () => undefined }, ports);
  onTestFinished(() => instance.close());
  return instance;
}

async function takeAll(instance: LocalInstance, count: number): Promise<Message[]> {
  const session = instance.openSession();
  const taken: Message[] = [];
  while (taken.length < count) taken.push(...(await session.dequeue('q', { max: 100, waitMs: 10_000 })));
  await session.commit();
  await session.close();
  expect(instance.queue('q').ready).toBe(0);
  return taken;
}

const ticksOf = (messages: readonly Message[]) => messages.map(({ properties }) => properties?.tick);

describe('a timer', () => {
  const everySecond = (options: Json = {}): ServiceSpec => ({
    name: 'clock',
    module: 'timer',
    options: { schedule: '* * * * * *', queue: 'q', payload: { kind: 'tick' }, ...(options as object) },
  });

  async function start(
    spec: ServiceSpec,
  ): Promise<{ dir: string; clock: SetClock; instance: LocalInstance }> {
    const [dir, clock] = [makeFolder(), new SetClock()];
    const instance = await open(dir, spec, clock.ports);
    await instance.createQueue({ name: 'q' });
    instance.startServices();
    await instance.callService('clock', 'status');
    return { dir, clock, instance };
  }

  it('enqueues each tick once, with its time', async () => {
    const { clock, instance } = await start(everySecond());
    clock.set('2026-01-01T00:00:02.100Z');
    const messages = await takeAll(instance, 2);
    expect(ticksOf(messages)).toEqual(['2026-01-01T00:00:01.000Z', '2026-01-01T00:00:02.000Z']);
    expect(messages[0]!.payload.toString()).toBe('{"kind":"tick"}');
    expect(messages[0]!.properties?.timer).toBe('clock');
  });

  it('continues after a restart with the next tick, and catches up on missed ones', async () => {
    const { dir, clock, instance } = await start(everySecond());
    clock.set('2026-01-01T00:00:01.000Z');
    await takeAll(instance, 1);
    await instance.close();
    clock.set('2026-01-01T00:04:00.000Z');
    const next = await open(dir, everySecond(), clock.ports);
    next.startServices();
    const ticks = ticksOf(await takeAll(next, 239));
    expect([ticks[0], ticks.at(-1)]).toEqual(['2026-01-01T00:00:02.000Z', '2026-01-01T00:04:00.000Z']);
    expect(new Set(ticks).size).toBe(239);
  });

  it('skips ticks that are older than its bound, and reports that', async () => {
    const { clock, instance } = await start(everySecond({ catchUpMs: 10_000 }));
    clock.set('2026-01-01T01:00:00.000Z');
    expect(ticksOf(await takeAll(instance, 10))[0]).toBe('2026-01-01T00:59:51.000Z');
    expect(await instance.callService('clock', 'status')).toEqual({
      ticks: 10,
      lastTickMs: Date.parse('2026-01-01T01:00:00Z'),
      nextTickMs: Date.parse('2026-01-01T01:00:01Z'),
      skippedToMs: Date.parse('2026-01-01T00:59:50Z'),
    });
  });

  it('rests until its next tick when all that it missed are too old', async () => {
    const weekly = everySecond({ schedule: '0 0 * * 0', catchUpMs: secondMs });
    const { clock, instance } = await start(weekly);
    clock.set('2026-01-06T12:00:00.000Z'); // two days after the Sunday
    await vi.waitFor(async () => {
      const status = await instance.callService('clock', 'status');
      expect(status).toMatchObject({
        ticks: 0,
        nextTickMs: Date.parse('2026-01-11T00:00:00Z'),
        skippedToMs: Date.parse('2026-01-06T11:59:59Z'),
      });
    }, waiting);
    expect(Math.min(...clock.pausesMs)).toBe(secondMs);
  });

  it('repeats no tick when the wall clock is set back', async () => {
    const { clock, instance } = await start(everySecond());
    clock.set('2026-01-01T00:00:10.000Z');
    await takeAll(instance, 10);
    clock.set('2026-01-01T00:00:03.000Z');
    clock.set('2026-01-01T00:00:09.000Z');
    await instance.callService('clock', 'status');
    clock.set('2026-01-01T00:00:11.000Z');
    expect(ticksOf(await takeAll(instance, 1))).toEqual(['2026-01-01T00:00:11.000Z']);
  });

  it('follows a time zone over the change to summer time', async () => {
    const daily = everySecond({
      schedule: '30 2 * * *',
      timezone: 'Europe/Berlin',
      catchUpMs: 7 * 86_400_000,
    });
    const { clock, instance } = await start(daily);
    clock.set('2026-03-27T12:00:00.000Z');
    clock.set('2026-03-31T12:00:00.000Z');
    await vi.waitFor(() => expect(instance.queue('q').ready).toBeGreaterThan(4), waiting);
    const ticks = ticksOf(await takeAll(instance, instance.queue('q').ready)).slice(-4);
    // 02:30 does not exist on the 29th: it ticks at 03:00, when the clock has skipped it (`clock-changes.test.ts`).
    expect(ticks).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
      '2026-03-31T00:30:00.000Z',
    ]);
  });

  it('closes its session if its first commit fails, as the next attempt opens another one', async () => {
    let isClosed = false;
    const session = {
      writeState: () => undefined,
      commit: () => Promise.reject(new QueueError('STORAGE_FULL')),
      close: async () => {
        isClosed = true;
      },
    };
    const context = { state: undefined, nowMs: () => 0, openSession: () => session };
    const timer = createTimer({ schedule: '* * * * * *', queue: 'q' });
    const activation = timer.activate(context as unknown as ServiceContext);
    await expect(activation).rejects.toThrow(expect.objectContaining({ code: 'STORAGE_FULL' }));
    expect(isClosed).toBe(true);
  });

  it.each<[string, Json]>([
    ['no cron expression', { schedule: 'now and then' }],
    ['a time zone that there is not', { timezone: 'Mars/Olympus' }],
    ['an option it does not have', { every: 5 }],
    ['a bound that cannot be', { catchUpMs: -1 }],
  ])('is refused with %s', async (_what, options) => {
    const instance = await open(makeFolder(), everySecond(options), nodePorts);
    instance.startServices();
    await vi.waitFor(
      () =>
        expect(instance.services()).toMatchObject([
          { status: 'failed', failure: { code: 'SERVICE_SPEC_INVALID' } },
        ]),
      waiting,
    );
  });
});

describe('the poller of a folder', () => {
  const inbox = (folder: string): ServiceSpec => ({
    name: 'inbox',
    module: 'folder-poller',
    options: { folder, queue: 'q', suffix: '.txt', pollMs: 10, settleMs: 0 },
  });

  async function start(dir: string, folder: string): Promise<LocalInstance> {
    const instance = await open(dir, inbox(folder), nodePorts);
    if (instance.queues().length === 0) await instance.createQueue({ name: 'q' });
    instance.startServices();
    return instance;
  }

  const filesOf = (messages: readonly Message[]) => messages.map(({ properties }) => properties?.file).sort();

  it('enqueues each file as a message and moves it, large files too', async () => {
    const [dir, folder] = [makeFolder(), makeFolder()];
    const instance = await start(dir, folder);
    writeFileSync(join(folder, 'a.txt'), 'first');
    writeFileSync(join(folder, 'b.txt'), 'x'.repeat(600_000));
    writeFileSync(join(folder, 'c.other'), 'not for it');
    mkdirSync(join(folder, 'd.txt'));
    const session = instance.openSession();
    const messages: Message[] = [];
    while (messages.length < 2) messages.push(...(await session.dequeue('q', { max: 2, waitMs: 10_000 })));
    const bytes = await Promise.all(
      messages.map(async (message) => {
        let count = 0;
        for await (const chunk of message.payloadStream()) count += (chunk as Uint8Array).length;
        return count;
      }),
    );
    expect([filesOf(messages), bytes]).toEqual([
      ['a.txt', 'b.txt'],
      [5, 600_000],
    ]);
    await session.commit();
    await vi.waitFor(
      () => expect(readdirSync(join(folder, 'done')).sort()).toEqual(['a.txt', 'b.txt']),
      waiting,
    );
    expect(readdirSync(folder).sort()).toEqual(['c.other', 'd.txt', 'done', 'failed']);
  });

  it('enqueues a later file of the same name, and keeps both files', async () => {
    const [dir, folder] = [makeFolder(), makeFolder()];
    const instance = await start(dir, folder);
    for (const content of ['one', 'second']) {
      writeFileSync(join(folder, 'a.txt'), content);
      expect((await takeAll(instance, 1))[0]!.payload.toString()).toBe(content);
      await vi.waitFor(() => expect(readdirSync(folder)).not.toContain('a.txt'), waiting);
    }
    expect(readdirSync(join(folder, 'done')).sort()).toEqual(['a.txt', 'a.txt.2']);
  });

  it('does not enqueue a file again if it was killed before it moved the file', async () => {
    const [dir, folder] = [makeFolder(), makeFolder()];
    const instance = await start(dir, folder);
    writeFileSync(join(folder, 'a.txt'), 'once');
    await takeAll(instance, 1);
    await vi.waitFor(() => expect(readdirSync(folder)).not.toContain('a.txt'), waiting);
    await instance.close();
    renameSync(join(folder, 'done', 'a.txt'), join(folder, 'a.txt')); // This is the state after a kill before the move.
    const next = await start(dir, folder);
    await vi.waitFor(() => expect(readdirSync(folder)).not.toContain('a.txt'), waiting);
    expect(next.queue('q').enqueued).toBe(1);
    expect(await next.callService('inbox', 'status')).toMatchObject({ files: 1, failed: 0 });
  });

  it('moves the file of its note before it takes another one, which would replace the note', async () => {
    const [dir, folder] = [makeFolder(), makeFolder()];
    const instance = await start(dir, folder);
    writeFileSync(join(folder, 'b.txt'), 'once');
    await takeAll(instance, 1);
    await vi.waitFor(() => expect(readdirSync(folder)).not.toContain('b.txt'), waiting);
    await instance.close();
    renameSync(join(folder, 'done', 'b.txt'), join(folder, 'b.txt')); // This is the state after a kill before the move.
    writeFileSync(join(folder, 'a.txt'), 'sorted before it');
    const next = await start(dir, folder);
    await vi.waitFor(
      () => expect(readdirSync(join(folder, 'done')).sort()).toEqual(['a.txt', 'b.txt']),
      waiting,
    );
    expect(filesOf(await takeAll(next, 1))).toEqual(['a.txt']);
    expect(await next.callService('inbox', 'status')).toMatchObject({ files: 2, failed: 0 });
  });
});
