/**
 * The subscribers of a shared queue and how many messages each has ready, in shared memory. A slot keeps its subscriber while a
 * session has pinned it. Nothing here takes a guard: rows are read under any copy's mutex and changed under all of them; each
 * copy of the metadata object has its own part of a ready count, changed under that copy's mutex; the sum of the parts is the
 * count.
 *
 * A ready count is raised after the commit that made the message visible and lowered after the one that consumed it, so a message
 * that is taken and not committed still counts. A message that becomes ready later (delayed, waiting for a retry) is in a
 * separate count, which only keeps its subscriber from being evicted.
 */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import { assertName } from '../model/call-arguments.ts';
import type { CopyNumber, SlotNumber } from '../model/ids.ts';
import { nameBytesMax, type QueueMemory } from './queue-memory.ts';

/**
 *     reserved  for the subscriber of its name, which is being added to the topic
 *     outdated  the same, but the subscriber may have been removed from the topic since it was added
 *     evicting  the subscriber of its name is being removed from the topic
 */
const rowKinds = { free: 0, durable: 1, temporary: 2, reserved: 3, outdated: 4, evicting: 5 } as const;
/** The value of a session's pinned word if it pins all rows. */
export const allRows = -1;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class SubscriberTable {
  readonly #memory: QueueMemory;
  /** Slots by name, of the version that was read. */
  readonly #known = new Map<string, SlotNumber>();
  #version = -1;

  constructor(memory: QueueMemory) {
    this.#memory = memory;
  }

  /** Forgets what it knows of rows if any has changed. */
  refresh(): void {
    const version = this.#memory.load(this.#memory.directory('version'));
    if (version === this.#version) return;
    this.#known.clear();
    this.#version = version;
  }

  /** The slot of a subscriber; undefined if there is none of this name. */
  find(name: string): SlotNumber | undefined {
    this.refresh();
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const slot = this.#search(name);
    if (slot !== undefined) this.#known.set(name, slot);
    return slot;
  }

  /** Throws `SUBSCRIBER_NOT_FOUND`. */
  slotOf(name: string): SlotNumber {
    const slot = this.find(name);
    if (slot === undefined) throw new QueueError('SUBSCRIBER_NOT_FOUND', { details: { subscriber: name } });
    return slot;
  }

  #search(name: string): SlotNumber | undefined {
    const memory = this.#memory;
    const bytes = encoder.encode(name);
    const hash = hashOf(bytes);
    const last = memory.load(memory.directory('used'));
    for (let slot = 0; slot < last; slot += 1) {
      if (!this.#isSubscriber(slot) || memory.load(memory.slot(slot, 'hash')) !== hash) continue;
      if (this.nameOf(slot) === name) return slot;
    }
    return undefined;
  }

  #isSubscriber(slot: SlotNumber): boolean {
    const kind = this.#kindOf(slot);
    return kind === rowKinds.durable || kind === rowKinds.temporary;
  }

  #kindOf(slot: SlotNumber): number {
    return this.#memory.load(this.#memory.slot(slot, 'used'));
  }

  nameOf(slot: SlotNumber): string {
    const memory = this.#memory;
    const start = slot * nameBytesMax;
    // A copy, because the decoder takes no shared memory.
    return decoder.decode(memory.names.slice(start, start + memory.load(memory.slot(slot, 'nameBytes'))));
  }

  isTemporary(slot: SlotNumber): boolean {
    return this.#kindOf(slot) === rowKinds.temporary;
  }

  slots(): SlotNumber[] {
    return this.#slotsOf(rowKinds.durable, rowKinds.temporary);
  }

  #slotsOf(...kinds: number[]): SlotNumber[] {
    const last = this.#memory.load(this.#memory.directory('used'));
    return Array.from({ length: last }, (_, slot) => slot).filter((slot) =>
      kinds.includes(this.#kindOf(slot)),
    );
  }

  /** Negative for the moment in which a message was consumed before the session that enqueued it has counted it. */
  ready(slot: SlotNumber): number {
    return this.#count('ready', slot);
  }

  /** Messages that will be ready. */
  later(slot: SlotNumber): number {
    return this.#count('later', slot);
  }

  #count(which: 'ready' | 'later', slot: SlotNumber): number {
    const memory = this.#memory;
    let sum = 0;
    for (let copy = 0; copy < memory.shape.copies; copy += 1)
      sum += memory.load(memory.count(which, copy, slot));
    return sum;
  }

  changeCount(
    which: 'ready' | 'later',
    { copy, slot, by }: { copy: CopyNumber; slot: SlotNumber; by: number },
  ): void {
    this.#memory.change(this.#memory.count(which, copy, slot), by);
  }

  /**
   * Takes a slot for a new subscriber: a free one, else that of the oldest temporary subscriber that has no message and that no
   * session uses. Returns the name of a subscriber that is evicted: once it is removed from the topic, call `claim`. Throws
   * `SUBSCRIBERS_FULL`.
   */
  reserve(name: string): { slot: SlotNumber; evicted: string | undefined } {
    const slot = this.#freeSlot() ?? this.#idleTemporary();
    if (slot === undefined) {
      const { subscribersMax } = this.#memory.shape;
      throw new QueueError('SUBSCRIBERS_FULL', { details: { subscribersMax, oracle: 'ORA-24067' } });
    }
    if (!this.isTemporary(slot)) {
      this.claim(slot, name);
      return { slot, evicted: undefined };
    }
    const evicted = this.nameOf(slot);
    for (const other of this.#slotsOf(rowKinds.reserved))
      if (this.nameOf(other) === evicted) this.#setKind(other, rowKinds.outdated);
    this.#setKind(slot, rowKinds.evicting);
    return { slot, evicted };
  }

  /** Gives a slot to a subscriber that is being added. */
  claim(slot: SlotNumber, name: string): void {
    const memory = this.#memory;
    const bytes = encoder.encode(name);
    memory.names.set(bytes, slot * nameBytesMax);
    memory.store(memory.slot(slot, 'nameBytes'), bytes.length);
    memory.store(memory.slot(slot, 'hash'), hashOf(bytes));
    this.#setKind(slot, this.#isBeingEvicted(name) ? rowKinds.outdated : rowKinds.reserved);
  }

  #isBeingEvicted(name: string): boolean {
    return this.#slotsOf(rowKinds.evicting).some((slot) => this.nameOf(slot) === name);
  }

  #freeSlot(): SlotNumber | undefined {
    const memory = this.#memory;
    const usedAt = memory.directory('used');
    const last = memory.load(usedAt);
    for (let slot = 0; slot < last; slot += 1) if (this.#kindOf(slot) === rowKinds.free) return slot;
    if (last === memory.shape.subscribersMax) return undefined;
    memory.change(usedAt, 1);
    return last;
  }

  #idleTemporary(): SlotNumber | undefined {
    const memory = this.#memory;
    const inUse = new Set<SlotNumber>();
    for (let session = 0; session <= memory.shape.sessionsMax; session += 1) {
      const pinned = memory.load(memory.session(session, 'pinned'));
      if (pinned === allRows) return undefined;
      inUse.add(pinned - 1).add(memory.load(memory.session(session, 'waitsFor')) - 1);
    }
    const madeAs = (slot: SlotNumber) => memory.load(memory.slot(slot, 'made'));
    return this.slots()
      .filter((slot) => this.isTemporary(slot) && !inUse.has(slot))
      .filter((slot) => this.ready(slot) === 0 && this.later(slot) === 0)
      .sort((a, b) => madeAs(a) - madeAs(b))[0];
  }

  /**
   * Makes a row of a slot whose subscriber was added to the topic. If another session has made one, the slot becomes free. Returns
   * false if an eviction may have removed the subscriber since: then it must be added again. `isSure`: no eviction can have.
   */
  fill(slot: SlotNumber, { temporary, isSure = false }: { temporary: boolean; isSure?: boolean }): boolean {
    const memory = this.#memory;
    const name = this.nameOf(slot);
    if (this.find(name) !== undefined) {
      this.release(slot);
      return true;
    }
    if (this.#kindOf(slot) === rowKinds.outdated && !isSure) {
      if (!this.#isBeingEvicted(name)) this.#setKind(slot, rowKinds.reserved);
      return false;
    }
    for (const which of ['ready', 'later'] as const)
      for (let copy = 0; copy < memory.shape.copies; copy += 1)
        memory.store(memory.count(which, copy, slot), 0);
    if (temporary) {
      memory.change(memory.directory('temporaryMade'), 1);
      memory.store(memory.slot(slot, 'made'), memory.load(memory.directory('temporaryMade')));
    }
    this.#setKind(slot, temporary ? rowKinds.temporary : rowKinds.durable);
    return true;
  }

  /** A slot that was taken is free again. */
  release(slot: SlotNumber): void {
    this.#setKind(slot, rowKinds.free);
  }

  #setKind(slot: SlotNumber, kind: number): void {
    this.#memory.store(this.#memory.slot(slot, 'used'), kind);
    this.#memory.change(this.#memory.directory('version'), 1);
  }

  get temporaryMade(): number {
    return this.#memory.load(this.#memory.directory('temporaryMade'));
  }
}

/** Throws `OPTIONS_INVALID` where the name does not fit its slot; the topic checks everything else. */
export function assertNameFits(name: string): void {
  assertName('name', name);
  if (encoder.encode(name).length > nameBytesMax)
    throw new QueueError('OPTIONS_INVALID', {
      message: `The name of a subscriber must have at most ${limits.subscriberNameCharactersMax} characters`,
    });
}

/** FNV-1a, signed as the words are. */
function hashOf(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash | 0;
}
