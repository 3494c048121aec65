/** Advice on how to shorten a wait, and the sliders of the what-if page that show the effect. */
import { numberParam, type Point } from '@shardlab/contract';
import { onCpu, type PointActivity, runnable } from './active-sessions.ts';
import type { WhatIfSettings } from './what-if.ts';

export interface Advice {
  text: string;
  /** A change of the point's settings that the model can show; null if it has no slider for it. */
  change: Partial<WhatIfSettings> | null;
}

type Advise = (settings: WhatIfSettings) => Advice[];

const fasterSync: Advice = { text: 'A device that syncs faster', change: { syncUs: 20 } };
const moreCores: Advice = { text: 'More cores', change: { cores: 16 } };
const moreInstances = ({ instances }: WhatIfSettings): Advice => ({
  text: `Twice as many instances: ${instances * 2}`,
  change: { instances: instances * 2 },
});
const moreOperations = ({ operations }: WhatIfSettings): Advice => ({
  text: `Ten times as many messages in a transaction: ${operations * 10}`,
  change: { operations: operations * 10 },
});

const byEvent: Readonly<Record<string, Advise>> = {
  'log file sync': (settings) => [fasterSync, moreOperations(settings)],
  'write lock': (settings) => [
    { text: 'A sharded queue: sessions commit in parallel, without a common index', change: {} },
    moreOperations(settings),
    fasterSync,
  ],
  claim: () => [{ text: 'A sharded queue: a dequeue writes no claim', change: {} }],
  [runnable]: (settings) => [moreInstances(settings), moreCores],
  [onCpu]: (settings) => [moreInstances(settings), moreCores],
  'client round trip': (settings) => [
    { text: 'A client that is closer', change: { roundTripMs: 0 } },
    moreOperations(settings),
    { text: 'More sessions: each waits for its own round trip', change: null },
  ],
  'server call': () => [
    { text: 'Sessions in the process of the instance (embedded)', change: null },
    { text: 'More messages in a call', change: null },
  ],
  'partition maintenance': () => [
    { text: 'Larger partitions, so that fewer are created and truncated', change: null },
  ],
  'log file switch (checkpoint incomplete)': () => [
    { text: 'A disk that takes more bytes a second: the tables do not keep up with the log', change: null },
  ],
  'backlog read': () => [{ text: 'A larger message cache', change: null }],
  'payload write': () => [fasterSync],
  'payload read': () => [{ text: 'Payloads of up to 1 MiB, which are not streamed', change: null }],
  'writer reservation': () => [
    { text: 'Shorter transactions with SQL statements: each reserves the writer', change: null },
  ],
  'flow control': () => [{ text: 'More dequeuers: the backlog is at its bound', change: null }],
  'global transaction lock': () => [
    { text: 'Both branches on one instance: a lock that is free there takes no messages', change: null },
    { text: 'Loosely coupled branches, which have no lock', change: null },
  ],
  'passed-on call': () => [
    { text: 'Prepare and commit each branch by a call to its own instance', change: null },
  ],
  'library cache: mutex X': () => [
    { text: 'Dequeue by the name of a subscriber instead of listen', change: null },
    { text: 'Copies of the metadata object (the parameter copies)', change: null },
  ],
  'instance commit': () => [
    { text: 'A device that syncs faster, or a topic whose durability is relaxed', change: null },
  ],
  'instance call': () => [{ text: 'Fewer sessions on the thread of one instance', change: null }],
  'latch free': () => [
    { text: 'Dequeue by the name of a subscriber: it does not use the broadcast channel', change: null },
  ],
};

/** The settings of a point on the what-if page. */
function settingsOf({ params }: Pick<Point, 'params'>): WhatIfSettings {
  const or = (name: string, usual: number) =>
    params[name] === undefined ? usual : numberParam(params, name);
  return {
    instances: or('instances', 1),
    operations: or('operationsPerTransaction', 10),
    subscribers: or('subscribers', 0),
    payloadBytes: or('payloadBytes', 512),
    roundTripMs: or('roundTripMs', 0),
    cores: null,
    syncUs: null,
  };
}

/** Settings that open the what-if page at a point with a change; settings that the page takes from its machine are left out. */
export function presetOf(point: Pick<Point, 'params'>, change: Partial<WhatIfSettings>): Preset {
  const settings = Object.entries({ ...settingsOf(point), ...change }).filter(([, value]) => value !== null);
  const { threads } = point.params;
  return {
    ...(Object.fromEntries(settings) as Preset),
    ...(typeof threads === 'number' ? { threads } : {}),
  };
}

/** `threads`: enqueuers, and dequeuers for each subscriber. */
type Preset = { [Name in keyof WhatIfSettings]?: number } & { threads?: number };

/** Whether the model simulates points of this program. */
export const isSimulated = ({ program }: Pick<Point, 'program'>): boolean =>
  program === 'queue' || program === 'topic';

/** If less than this share of the cores is in use, sessions do not wait for a core, but for a thread that is busy or blocked. */
const busyShareMin = 0.8;

/**
 * Empty for an unknown event. More cores help only if the machine's `cores` are in use; null if their number is unknown. For a
 * program that the model does not simulate: only general advice, such as another machine, without a change that could be shown.
 */
export function adviceFor(
  event: string,
  { point, coresBusy }: Pick<PointActivity, 'point' | 'coresBusy'>,
  cores: number | null,
): Advice[] {
  const areCoresFree = coresBusy !== null && cores !== null && coresBusy < busyShareMin * cores;
  const advice = (byEvent[event]?.(settingsOf(point)) ?? []).filter(
    (each) => !(areCoresFree && each === moreCores),
  );
  if (isSimulated(point)) return advice;
  return advice
    .filter(({ change }) => change === null || isOfMachine(change))
    .map(({ text }) => ({ text, change: null }));
}

function isOfMachine(change: Partial<WhatIfSettings>): boolean {
  const names = Object.keys(change);
  return names.length > 0 && names.every((name) => name === 'cores' || name === 'syncUs');
}

/** Explanations of a session's states that are not wait events. */
export const meaningOfState: Readonly<Record<string, { about: string; standsFor: string | null }>> = {
  [onCpu]: {
    about: 'the session runs: its program, the engine, or SQLite on its thread',
    standsFor: 'DB CPU',
  },
  [runnable]: {
    about:
      'ready to run: its wait has ended, but its thread is busy with other sessions or blocked by a sync, or has no core',
    standsFor: 'CPU queue (wait for CPU)',
  },
};
