/**
 * Whatever sessions do, the recorded events of a message are a legal sequence in the transition table of a message's life, for each
 * subscriber. All messages of a run are traced.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Instance, type MessageEvent, openInstance, type Session } from '../../src/index.ts';
import { type MessageCommand, type MessageState, messageLife } from '../../src/model/message-life.ts';
import { eventOfCommand } from '../../src/model/trace-events.ts';
import { makeFolder } from '../folder.ts';
import { isTorture } from '../random.ts';

const commandOfEvent = new Map(
  Object.entries(eventOfCommand).map(([command, event]) => [event as string, command as MessageCommand]),
);

/** Returns the state after all events. Throws if one of them is illegal in its state. */
function walk(events: readonly MessageEvent[]): MessageState {
  let state: MessageState = 'uncommitted';
  let isEvacuated = false;
  for (const { event } of events) {
    if (event === 'evacuated') isEvacuated = true;
    if (event === 'truncated') expect(isEvacuated || state === 'terminal', 'may be truncated').toBe(true);
    const command = commandOfEvent.get(event);
    if (command !== undefined) state = messageLife.next(state, command);
  }
  return state;
}

/** The whereabouts that a message must have according to its state in the table. */
const stateOfWhereabouts: Record<string, MessageState[]> = {
  uncommitted: ['uncommitted'],
  ready: ['ready', 'returned'],
  held: ['held'],
  delayed: ['paused'],
  consumed: ['terminal'],
};

type Command = [session: number, act: (typeof acts)[number], count: number];
const acts = ['enqueue', 'dequeue', 'receive', 'acknowledge', 'release', 'commit', 'rollback'] as const;
const commands = fc.array(
  fc.tuple(fc.nat({ max: 2 }), fc.constantFrom(...acts), fc.integer({ min: 1, max: 3 })),
  { minLength: 20, maxLength: 60 },
);

interface Run {
  instance: Instance;
  sessions: Session[];
  subscribers: readonly string[];
  ids: string[];
  receipts: string[];
}

async function obey(run: Run, [number, act, count]: Command): Promise<void> {
  const { instance, subscribers, ids, receipts } = run;
  const session = run.sessions[number]!;
  const from = subscribers.length === 0 ? {} : { subscriber: subscribers[number % subscribers.length]! };
  if (act === 'enqueue') for (let i = 0; i < count; i += 1) session.enqueue('q', { payload: 'a' });
  else if (act === 'dequeue') await session.dequeue('q', { max: count, ...from });
  else if (act === 'receive')
    receipts.push(...(await session.receive('q', { max: count, ...from })).map(({ receipt }) => receipt));
  else if (act === 'acknowledge') session.acknowledge('q', receipts.splice(0, count));
  else if (act === 'release') await session.release('q', receipts.splice(0, count));
  else if (act === 'rollback') await session.rollback();
  else {
    instance.traceNext('q', 100);
    ids.push(...(await session.commit()).ids);
  }
}

async function checkRun(sequence: readonly Command[], subscribers: readonly string[]): Promise<Set<string>> {
  const instance = await openInstance({ dir: makeFolder(), partitionMessagesMax: 3 });
  const seen = new Set<string>();
  try {
    const isTopic = subscribers.length > 0;
    await instance.createQueue({ name: 'q', shards: 1, type: isTopic ? 'topic' : 'queue' });
    for (const name of subscribers) await instance.subscribe('q', { name });
    const sessions = [0, 1, 2].map(() => instance.openSession());
    const run: Run = { instance, sessions, subscribers, ids: [], receipts: [] };
    for (const command of sequence) await obey(run, command);
    for (const session of sessions) await session.rollback();
    await instance.checkpoint(); // Partitions are truncated as the tables follow.
    for (const id of run.ids) {
      const { events, whereabouts, coverage } = await instance.messageTrace('q', id);
      expect(coverage).toBe('complete');
      for (const { event } of events) seen.add(event);
      for (const subscriber of isTopic ? subscribers : [undefined]) {
        const own = events.filter(
          (event) => event.subscriber === undefined || event.subscriber === subscriber,
        );
        const now = whereabouts.find((each) => each.subscriber === subscriber)!;
        const state = walk(own);
        expect(stateOfWhereabouts[now.state], `${id} of ${subscriber}`).toContain(state);
      }
    }
  } finally {
    await instance.close();
  }
  return seen;
}

describe('the events of every message', () => {
  it.each([
    { of: 'a queue', subscribers: [] },
    { of: 'a topic', subscribers: ['audit', 'billing'] },
  ])('of $of are a legal walk that ends where the message is', async ({ subscribers }) => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(commands, async (sequence) => {
        for (const event of await checkRun(sequence, subscribers)) seen.add(event);
      }),
      { numRuns: isTorture ? 36 : 5, endOnFailure: true },
    );
    // The first run has all commands, so that none is left out by chance.
    const everything: Command[] = [
      [0, 'enqueue', 3],
      [0, 'commit', 1],
      [1, 'enqueue', 3],
      [1, 'commit', 1],
      [1, 'dequeue', 2],
      [1, 'rollback', 1],
      [1, 'receive', 1],
      [0, 'release', 1],
      ...[0, 1].flatMap((session): Command[] =>
        [0, 1, 2, 3].flatMap((): Command[] => [
          [session, 'dequeue', 3],
          [session, 'commit', 1],
        ]),
      ),
      [0, 'enqueue', 1],
      [0, 'commit', 1],
      [0, 'enqueue', 1],
      [0, 'commit', 1],
    ];
    for (const event of await checkRun(everything, subscribers)) seen.add(event);
    for (const event of [
      'committed',
      'delivered',
      'rolled-back',
      'held',
      'released',
      'returned',
      'consumed',
      'truncated',
    ])
      expect(seen).toContain(event);
  });
});
