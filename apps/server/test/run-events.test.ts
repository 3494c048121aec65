import type { Run, RunEvent } from '@shardlab/contract';
import { applyRunEvent } from '@shardlab/lab';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { EventReader } from './raw-client.ts';
import { endlessScenario, smallScenario, startApp, type TestApp, waiting } from './start-app.ts';

async function listening(options: Parameters<typeof startApp>[0] = {}) {
  const test = await startApp(options);
  const url = await test.app.listen({ host: '127.0.0.1', port: 0 });
  const headers = { 'content-type': 'application/json' };
  const start = async (scenario: unknown) => {
    const response = await fetch(`${url}/api/runs`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ scenario }),
    });
    return ((await response.json()) as { id: string }).id;
  };
  const follow = (id: string, lastEventId?: number) => {
    const reader = new EventReader(`${url}/api/runs/${id}/events`, lastEventId);
    onTestFinished(() => reader.hangUp());
    return reader;
  };
  const show = async (id: string) => (await (await fetch(`${url}/api/runs/${id}`)).json()) as Run;
  const cancel = (id: string) => fetch(`${url}/api/runs/${id}/cancel`, { method: 'POST' });
  return { test, url, start, follow, show, cancel };
}

const until = (check: () => boolean) =>
  vi.waitFor(() => {
    if (!check()) throw new Error('not yet');
  }, waiting);

const threePoints = () =>
  smallScenario({
    phases: { warmupMs: 0, measureMs: 400, drainMs: 300 },
    sweep: { ...smallScenario().sweep, threads: [1, 2, 3] },
  });

describe('a stream of a run', () => {
  it('begins with a snapshot, continues with numbered events to the end, and closes', async () => {
    const { start, follow, show } = await listening();
    const id = await start(threePoints());
    const reader = follow(id);
    await reader.closed;
    const types = reader.events.map(({ type }) => type);
    expect(types[0]).toBe('snapshot');
    expect(types.at(-1)).toBe('end');
    expect(new Set(types)).toEqual(new Set(['snapshot', 'status', 'progress', 'tick', 'point', 'end']));
    const ids = reader.events.map((event) => event.id);
    expect(ids.slice(1, -1)).toEqual(ids.slice(1, -1).map((_, index) => ids[0]! + 1 + index));
    expect(ids.at(-1)).toBeGreaterThan(ids.at(-2)!);
    // A client that applies all events has the same run as the history.
    const run = reader.events.reduce<Run>((state, { data }) => applyRunEvent(state, data), {} as Run);
    expect(run).toEqual(await show(id));
  });

  it('continues after a disconnection with no event missing and none twice', async () => {
    const { start, follow } = await listening();
    const id = await start(threePoints());
    const whole = follow(id);
    const broken = follow(id);
    await until(() => broken.events.some(({ type }) => type === 'point'));
    broken.hangUp();
    await broken.closed;
    const resumed = follow(id, broken.lastId);
    await Promise.all([resumed.closed, whole.closed]);
    const joined = [...broken.events.slice(1), ...resumed.events];
    const ofWhole = new Map(whole.events.map((event) => [event.id, event]));
    expect(resumed.events[0]?.type).not.toBe('snapshot');
    expect(joined.map((event) => event.id)).toEqual([...new Set(joined.map((event) => event.id))]);
    for (const event of joined) if (ofWhole.has(event.id)) expect(event).toEqual(ofWhole.get(event.id));
    expect(joined.at(-1)?.type).toBe('end');
  });

  it('starts again with a snapshot for an id that is no longer kept, including the ticks so far', async () => {
    const { start, follow, cancel } = await listening();
    const id = await start(endlessScenario());
    const first = follow(id);
    await until(() => first.events.filter(({ type }) => type === 'tick').length >= 3);
    const late = follow(id, 1_000_000);
    await until(() => late.events.length > 0);
    const { data } = late.events[0]! as { data: Extract<RunEvent, { type: 'snapshot' }> };
    expect(data.type).toBe('snapshot');
    expect(data.run).toMatchObject({ id, status: 'running' });
    expect(data.ticks.length).toBeGreaterThanOrEqual(3);
    await cancel(id);
    await Promise.all([first.closed, late.closed]);
    expect(late.events.at(-1)).toMatchObject({ type: 'end', data: { run: { status: 'cancelled' } } });
  });

  it('ends the stream of a waiting run when it is cancelled', async () => {
    const { start, follow, cancel } = await listening();
    const active = await start(endlessScenario());
    const id = await start(smallScenario());
    const reader = follow(id);
    await until(() => reader.events.length === 1);
    await cancel(id);
    await reader.closed;
    expect(reader.events.map(({ type }) => type)).toEqual(['snapshot', 'status', 'end']);
    await cancel(active);
  });

  it('marks a run as watched only if a client followed it', async () => {
    const { start, follow, show } = await listening();
    const unwatched = await start(smallScenario());
    await vi.waitFor(async () => expect((await show(unwatched)).status).toBe('done'), waiting);
    expect((await show(unwatched)).watched).toBe(false);
    const watched = await start(smallScenario());
    await follow(watched).closed;
    expect((await show(watched)).watched).toBe(true);
  });

  it('has heartbeats while nothing happens', async () => {
    const { start, follow, cancel } = await listening({ heartbeatMs: 20 });
    const active = await start(endlessScenario());
    const reader = follow(await start(smallScenario()));
    await until(() => reader.comments.length >= 2);
    await cancel(active);
  });

  it('is refused past the bound, and accepted again when another stream has ended', async () => {
    const { test, url, start, follow } = await listening({ streamsMax: 4 });
    const id = await start(endlessScenario());
    const readers = [follow(id), follow(id), follow(id)]; // as many as one client may have
    await until(() => readers.every(({ events }) => events.length > 0));
    const refused = await fetch(`${url}/api/runs/${id}/events`);
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      { code: 'STREAMS_FULL', retryable: true },
    ]);
    readers[0]!.hangUp();
    await untilStreams(test, url, 2);
    const again = follow(id);
    await until(() => again.events.length > 0);
  });

  it('ends with the run when the server shuts down', async () => {
    const { test, start, follow } = await listening();
    const id = await start(endlessScenario());
    const reader = follow(id);
    await until(() => reader.events.some(({ type }) => type === 'tick'));
    await test.close();
    await reader.closed;
    expect(reader.events.at(-1)).toMatchObject({
      type: 'end',
      data: { run: { status: 'cancelled', error: { code: 'RUN_INTERRUPTED' } } },
    });
  });
});

async function untilStreams({ get }: TestApp, url: string, count: number): Promise<void> {
  await vi.waitFor(async () => {
    const { body } = await get<string>('/metrics', { host: new URL(url).host });
    expect(body).toContain(`shardlab_event_streams ${count}\n`);
  }, waiting);
}
