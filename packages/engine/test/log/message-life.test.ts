/** Every pair of state and command of a message's life, tried on a cursor: it does what the table says, or refuses. */
import { describe, expect, it } from 'vitest';
import type { Delivery } from '../../src/log/delivery.ts';
import { InvariantViolation } from '../../src/model/invariant.ts';
import { type MessageCommand, type MessageState, messageLife } from '../../src/model/message-life.ts';
import { cursorOver } from './log-fixture.ts';

const seq = 1;
const range = [seq, seq + 1] as const;
const evacuatedRow = { queueId: 1, shard: 100, subscriber: 0, seq, attempts: 1, record: new Uint8Array(8) };

interface Subject extends ReturnType<typeof cursorOver> {
  /** The last delivery of the message. */
  delivery?: Delivery;
}

/** A log with one message, brought into a state by the commands that lead there. */
function messageThatIs(state: MessageState): Subject {
  const subject: Subject = cursorOver(state === 'uncommitted' ? [] : ['a']);
  const { log, cursor, deliver } = subject;
  if (state === 'uncommitted') log.nextSeq = seq + 1;
  if (state === 'uncommitted' || state === 'ready') return subject;
  const delivery = deliver()!;
  if (state === 'returned') cursor.deliveries.nack([delivery]);
  if (state === 'paused') cursor.deliveries.pause(delivery, 1_000);
  if (state === 'terminal') cursor.consume([delivery], [range]);
  return { ...subject, delivery };
}

/** The same for a message that was in the file when the instance opened and has not been read since. */
function unreadMessageThatIs(state: MessageState): Subject | undefined {
  if (state !== 'ready' && state !== 'returned' && state !== 'terminal') return undefined;
  const subject = cursorOver([], { recoveredEndSeq: seq + 1 });
  if (state !== 'ready') subject.cursor.recover([range], []);
  if (state === 'returned') subject.cursor.recoverEvacuated([evacuatedRow]);
  return subject;
}

/** The same for a message that is addressed to another subscriber, which never gets into the states of a delivery. */
function messageForOthers(state: MessageState): Subject | undefined {
  if (state !== 'ready' && state !== 'uncommitted') return undefined;
  const subject = cursorOver([], { subscriberName: 'me' });
  if (state === 'ready') subject.commit(['a'], ['another']);
  else subject.log.nextSeq = seq + 1;
  return subject;
}

/** The real delivery of the message, or an invented one if it was never delivered. */
function deliveryOf({ cursor, delivery }: Subject): Delivery {
  if (delivery !== undefined) return delivery;
  const extent = { firstSeq: seq, count: 1, start: 0, end: 0 };
  const run = { ...extent, buffer: Buffer.alloc(0), fromDisk: false, retainCount: 0 };
  return { ...extent, cursor, run, deliveryCount: 1, holdNumber: 9, state: cursor.stateOf(seq) };
}

const commands: Record<MessageCommand, (subject: Subject) => void> = {
  commit: ({ log }) => {
    const run = { firstSeq: seq, count: 1, buffer: Buffer.alloc(0), start: 0, end: 0 };
    log.append({ ...run, fromDisk: false, retainCount: 0 });
  },
  skipGap: ({ log }) => log.skipGap(...range),
  passOver: ({ deliver }) => expect(deliver()).toBeUndefined(),
  deliver: ({ deliver }) => void deliver(),
  holdUnread: ({ cursor }) => void cursor.holdUnread(seq, 1),
  nack: (subject) => subject.cursor.deliveries.nack([deliveryOf(subject)]),
  cancelDelivery: (subject) => subject.cursor.deliveries.cancelDelivery([deliveryOf(subject)]),
  pause: (subject) => subject.cursor.deliveries.pause(deliveryOf(subject), 1_000),
  resume: (subject) => subject.cursor.deliveries.resume(deliveryOf(subject)),
  consume: (subject) => subject.cursor.consume([deliveryOf(subject)], [range]),
  evacuate: ({ cursor }) => cursor.markEvacuated([range]),
  recoverEvacuated: ({ cursor }) => cursor.recoverEvacuated([evacuatedRow]),
};

function subjectFor(state: MessageState, command: MessageCommand): Subject {
  if (command === 'holdUnread') return unreadMessageThatIs(state) ?? messageThatIs(state);
  if (command === 'passOver') return messageForOthers(state) ?? messageThatIs(state);
  return messageThatIs(state);
}

/** Illegal pairs that cannot be tried, and why. */
const untried: Record<string, string> = {
  'returned: passOver':
    'only the message at the position is passed over: a delivery takes a returned one before it',
};

/** A cursor accepts these commands at any time. In a state where they are illegal they find no message. */
const ignoredWhereIllegal: readonly MessageCommand[] = ['deliver', 'passOver'];

const pairs = messageLife.states.flatMap((state) =>
  messageLife.commands.map((command) => ({ state, command, next: messageLife.find(state, command) })),
);
const illegalPairs = pairs.filter(({ next }) => next === undefined);
const isUntried = ({ state, command }: (typeof pairs)[number]) => `${state}: ${command}` in untried;

describe('the life of a message', () => {
  it('has each of its commands tried here', () => {
    expect(messageLife.commands.toSorted()).toEqual(Object.keys(commands).toSorted());
  });

  it.each(pairs.filter(({ next }) => next !== undefined))('$state: $command leads to $next', (pair) => {
    const subject = subjectFor(pair.state, pair.command);
    expect(subject.cursor.stateOf(seq)).toBe(pair.state);
    commands[pair.command](subject);
    expect(subject.cursor.stateOf(seq)).toBe(pair.next);
    subject.cursor.assertConsistent();
    subject.log.assertConsistent();
    expect(subject.violations).toEqual([]);
  });

  it('has every illegal pair tried here except those with a reason', () => {
    expect(illegalPairs.filter(isUntried)).toHaveLength(Object.keys(untried).length);
  });

  it.each(illegalPairs.filter((pair) => !isUntried(pair)))('$state: $command is refused', (pair) => {
    const subject = subjectFor(pair.state, pair.command);
    expect(subject.cursor.stateOf(seq)).toBe(pair.state);
    if (ignoredWhereIllegal.includes(pair.command)) commands[pair.command](subject);
    else {
      expect(() => commands[pair.command](subject)).toThrow(InvariantViolation);
      expect(subject.violations).toHaveLength(1);
    }
    expect(subject.cursor.stateOf(seq)).toBe(pair.state);
  });

  it('lets messages in several states be evacuated as one range, unless one of them may not be', () => {
    const { cursor, deliver, violations } = cursorOver(['a', 'b', 'c', 'd', 'e']);
    const [, second, third, fourth] = [deliver(), deliver()!, deliver()!, deliver()!];
    cursor.deliveries.nack([second]);
    cursor.deliveries.pause(third, 1_000);
    cursor.consume([fourth], [[4, 5]]);
    cursor.markEvacuated([[1, 4]]);
    expect([1, 2, 3].map((each) => cursor.stateOf(each))).toEqual(['held', 'returned', 'paused']);
    expect(cursor.evacuated.size).toBe(3);
    for (const [start, end] of [
      [1, 2],
      [4, 5],
      [5, 6],
    ] as const)
      expect(() => cursor.markEvacuated([[start, end]])).toThrow('cannot evacuate');
    expect(violations).toHaveLength(3);
  });

  it('gives a group the last numbers of its log only, and only if a partition has them', () => {
    const { log, violations } = cursorOver(['a']);
    log.partitions.assign(1, 1);
    log.partitions.append(2, 10);
    log.nextSeq = 4;
    expect(() => log.assertNumbered([2, 4])).toThrow(InvariantViolation);
    log.partitions.append(4, 20);
    log.assertNumbered([2, 4]);
    for (const [start, end] of [
      [1, 4],
      [2, 3],
      [2, 5],
    ] as const)
      expect(() => log.assertNumbered([start, end])).toThrow(InvariantViolation);
    expect(violations).toHaveLength(4);
  });

  it('refuses a delivery that was already settled, even if its message was delivered again', () => {
    const { cursor, deliver, violations } = cursorOver(['a']);
    const first = deliver()!;
    cursor.deliveries.nack([first]);
    const second = deliver()!;
    expect(() => cursor.consume([first], [range])).toThrow(InvariantViolation);
    expect(violations).toHaveLength(1);
    cursor.consume([second], [range]);
    expect(cursor.stateOf(seq)).toBe('terminal');
  });
});
