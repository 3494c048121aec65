/**
 * The layout of a queue's shared memory. All sessions of a process see the same words: words with several writers are changed
 * under the latch or a mutex, all others have one writer.
 */

import type { SharedQueueHandle } from '../api/shared-queue.ts';
import type { CopyNumber, SlotNumber, ThreadSessionNumber } from '../model/ids.ts';

/** Words of a cache line, so that what different sessions write does not share one. */
const lineWords = 16;
/** Bytes of a subscriber's name in UTF-8. */
export const nameBytesMax = 512;

/** First the word that is taken, then the number of sessions that sleep for it. */
export const latchWords = { holder: 0, sleepers: 1 } as const;
export const channelWords = { members: 0, posts: 1, unread: 2 } as const;
export const directoryWords = { version: 0, used: 1, temporaryMade: 2 } as const;
export const copyWords = { closed: 0, locks: 1, pins: 2 } as const;
export const sessionWords = {
  /** Raised and notified to wake it. */
  wake: 0,
  /** The slot of the subscriber that it waits for in a dequeue, plus 1; 0 if it waits for none. */
  waitsFor: 1,
  /** The slot that its pin keeps from being given to another subscriber, plus 1. */
  pinned: 2,
  state: 3,
  /** Its index among the channel's members, plus 1. */
  memberAt: 4,
  /** Posts since it joined the channel, or last took them. */
  unread: 5,
} as const;
export const sessionStates = ['free', 'open', 'listening', 'waiting', 'closed'] as const;
/** `used`: its kind (`rowKinds` in `subscriber-table.ts`), 0 for a free one. */
export const slotWords = { used: 0, hash: 1, nameBytes: 2, made: 3 } as const;
const slotStride = 4;

export type MemoryShape = Pick<SharedQueueHandle, 'sessionsMax' | 'subscribersMax' | 'copies'>;

/** Offsets of all areas, in words. Sessions are numbered from 0: that of the owner. */
function areasOf({ sessionsMax, subscribersMax, copies }: MemoryShape) {
  let at = 0;
  const area = (words: number) => {
    const start = at;
    at += Math.ceil(words / lineWords) * lineWords;
    return start;
  };
  const sessions = sessionsMax + 1;
  return {
    latch: area(lineWords),
    channel: area(lineWords),
    members: area(sessions),
    directory: area(lineWords),
    slots: area(subscribersMax * slotStride),
    sessions: area(sessions * lineWords),
    mutexes: area(copies * lineWords),
    objects: area(copies * lineWords),
    ready: area(copies * subscribersMax),
    later: area(copies * subscribersMax),
    get words() {
      return at;
    },
  };
}

export class QueueMemory {
  readonly shape: MemoryShape;
  readonly words: Int32Array;
  readonly names: Uint8Array;
  readonly #areas: ReturnType<typeof areasOf>;

  constructor(shape: MemoryShape, { words, names }: Pick<SharedQueueHandle, 'words' | 'names'>) {
    this.shape = shape;
    this.words = new Int32Array(words);
    this.names = new Uint8Array(names);
    this.#areas = areasOf(shape);
  }

  static allocate(shape: MemoryShape): Pick<SharedQueueHandle, 'words' | 'names'> {
    return {
      words: new SharedArrayBuffer(areasOf(shape).words * Int32Array.BYTES_PER_ELEMENT),
      names: new SharedArrayBuffer(shape.subscribersMax * nameBytesMax),
    };
  }

  get latchAt(): number {
    return this.#areas.latch;
  }

  mutexAt(copy: CopyNumber): number {
    return this.#areas.mutexes + copy * lineWords;
  }

  channel(word: keyof typeof channelWords): number {
    return this.#areas.channel + channelWords[word];
  }

  member(index: number): number {
    return this.#areas.members + index;
  }

  directory(word: keyof typeof directoryWords): number {
    return this.#areas.directory + directoryWords[word];
  }

  slot(slot: SlotNumber, word: keyof typeof slotWords): number {
    return this.#areas.slots + slot * slotStride + slotWords[word];
  }

  session(session: ThreadSessionNumber, word: keyof typeof sessionWords): number {
    return this.#areas.sessions + session * lineWords + sessionWords[word];
  }

  object(copy: CopyNumber, word: keyof typeof copyWords): number {
    return this.#areas.objects + copy * lineWords + copyWords[word];
  }

  count(which: 'ready' | 'later', copy: CopyNumber, slot: SlotNumber): number {
    return this.#areas[which] + copy * this.shape.subscribersMax + slot;
  }

  load(at: number): number {
    return Atomics.load(this.words, at);
  }

  store(at: number, value: number): void {
    Atomics.store(this.words, at, value);
  }

  /**
   * Reads and writes in two steps: of two sessions that do this at once one is lost, so a word that several change needs its
   * guard. `Atomics.add` would hide a missing one.
   */
  change(at: number, by: number): void {
    Atomics.store(this.words, at, Atomics.load(this.words, at) + by);
  }

  /** Wakes a session that waits, or makes its next wait end at once. */
  wake(session: ThreadSessionNumber): void {
    const at = this.session(session, 'wake');
    Atomics.add(this.words, at, 1);
    Atomics.notify(this.words, at);
  }
}
