import { describe, expect, test } from 'vitest';
import {
  cpuInWords,
  roundTripsInWords,
  sessionWaitTables,
  type WaitTable,
} from '../src/model/session-wait-tables.ts';

test('requests that left the client are counted apart from emulated round trips before its calls', () => {
  const words = (roundTrips: number | null, waits: number) =>
    roundTripsInWords({
      roundTrips,
      rows: [{ event: 'client round trip', waits, maxMs: 1, totalMs: 1, emulated: true }],
    } as unknown as WaitTable);
  expect(words(60, 120)).toBe(
    ': 60 requests left the client; the emulated round trip is waited for before each of 120 calls',
  );
  expect([words(300, 300), words(null, 120)]).toEqual([', 300 round trips', '']);
});

describe('wait tables of sessions', () => {
  const columns = (...names: string[]) => names.map((name) => ({ name, title: name }));
  const runs = {
    id: 'runs',
    title: '',
    source: '',
    columns: columns(
      'run',
      'title',
      'transaction',
      'instances',
      'sessions',
      'preparedBy',
      'inserts',
      'elapsedS',
      'roundTrips',
      'cpuS',
      'syncMs',
    ),
    rows: [
      ['C2', 'on a disk', 'local', 2, 2, null, 2_000, 32.5, 4_013, 1.04, 28.8],
      ['C3', 'on an SSD', 'local', 2, 2, null, 2_000, 5.06, 4_014, 1.06, 0.72],
      ['C5', 'own', 'two-branches', 2, 2, 'own', 2_000, 35.3, 9_013, 4.77, 1.17],
    ],
  };
  const waits = {
    id: 'waits',
    title: '',
    source: '',
    columns: columns('run', 'event', 'waits', 'maxS', 'totalS'),
    rows: [
      ['C3', 'short', 3, 0, 0.01],
      ['C3', 'log file sync', 848, 0, 0.61],
      ['C5', 'DFS lock handle', 2_550, 1, 10.28],
    ],
  };
  const sync = { event: 'log file sync', waits: 4, maxMs: 9, totalMs: 30, emulated: true };
  const unnamed = { event: 'unnamed', waits: 2, maxMs: 1, totalMs: 2, emulated: false };
  const sessionWaits = [
    {
      session: 'session 1',
      elapsedMs: 50,
      cpuMs: 18,
      cpuOf: 'client' as const,
      instanceCpuMs: 20,
      calls: 120,
      roundTrips: 60,
      rows: [sync, unnamed],
    },
  ];
  const local = {
    transaction: 'local',
    instances: 2,
    sessions: 2,
    preparedBy: 'own',
    messagesPerSession: 60,
  };

  test('are shown with those of the document’s run with the same parameters and the closest time of a sync', () => {
    const tables = sessionWaitTables({ sessionWaits, params: { ...local, syncMs: 0 } }, { runs, waits })!;
    expect(tables.here).toEqual([
      {
        title: 'session 1',
        transactions: 60,
        elapsedMs: 50,
        cpuMs: 18,
        cpuOf: 'client',
        instanceCpuMs: 20,
        roundTrips: 60,
        explained: 0.96, // without unnamed time
        rows: [sync, unnamed],
      },
    ]);
    expect(tables.document).toMatchObject({
      title: 'C3: on an SSD',
      transactions: 1_000,
      elapsedMs: 5_060,
      cpuMs: 530,
      roundTrips: 2_007,
    });
    expect(tables.document!.rows.map(({ event, totalMs }) => [event, totalMs])).toEqual([
      ['log file sync', 610],
      ['short', 10],
    ]);
    const slow = sessionWaitTables({ sessionWaits, params: { ...local, syncMs: 21.6 } }, { runs, waits })!;
    expect(slow.document!.title).toBe('C2: on a disk');
  });

  test('say whether CPU time is that of the client, the engine or both', () => {
    const { here, document } = sessionWaitTables(
      { sessionWaits, params: { ...local, syncMs: 0 } },
      { runs, waits },
    )!;
    const words = [
      here[0]!,
      { ...here[0]!, cpuOf: 'client and engine' as const, instanceCpuMs: null },
      document!,
      { ...here[0]!, cpuOf: null, instanceCpuMs: null },
    ].map((table) => cpuInWords(table).replaceAll('\u202f', ' '));
    expect(words).toEqual([
      'CPU 18 ms of the client, 20 ms of the instances',
      'CPU 18 ms of the client and engine',
      'CPU 530 ms of its server process',
      'CPU 18 ms',
    ]);
  });

  test('are shown alone if the document has no such run, and are missing if no session was traced', () => {
    const other = { ...local, transaction: 'two-branches', preparedBy: 'other', syncMs: 0 };
    expect(sessionWaitTables({ sessionWaits, params: other }, { runs, waits })!.document).toBeNull();
    expect(sessionWaitTables({ params: local }, { runs, waits })).toBeUndefined();
  });
});
