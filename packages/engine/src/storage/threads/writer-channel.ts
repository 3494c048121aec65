/**
 * Two rings in shared memory between the session thread and the writer thread: groups one way, answers back. Neither side pays
 * for a structured clone, and while the other one is awake no system call is made. A group that a slot cannot describe is posted
 * as a message; its slot is marked and keeps the order.
 *
 * Each ring has one sender and one receiver, and cannot overflow: the writer answers each group, and `limits.groupsInFlightMax`
 * bounds the groups without an answer.
 *
 * Waking a sleeping thread costs as much as half a small commit, so both receivers poll before they sleep, but only while that
 * pays: after a wait without result the thread sleeps at once, until something again arrives as quickly.
 */
import { availableParallelism } from 'node:os';
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { limits } from '../../api/limits.ts';
import type {
  BlockEntry,
  ConsumptionDeltaEntry,
  Group,
  GroupResult,
  WriterReply,
  WriterRequest,
} from '../../model/group-message.ts';
import { poolChangeCount } from '../../model/partitions.ts';
import type { Clock } from '../../model/ports.ts';
import { spinPause } from '../../model/spin-pause.ts';

interface RingSize {
  slotCount: number;
  slotWords: number;
}

/** Words of the control block, which fills a cache line. */
const sentWord = 0;
const asleepWord = 1;
const controlBytes = 64;

function createRingMemory({ slotCount, slotWords }: RingSize): SharedArrayBuffer {
  return new SharedArrayBuffer(controlBytes + slotCount * slotWords * Float64Array.BYTES_PER_ELEMENT);
}

class Ring {
  readonly control: Int32Array;
  /** Float64 holds every number of a group exactly: sequence and group numbers pass 2³². */
  readonly #slots: readonly Float64Array[];

  constructor(memory: SharedArrayBuffer, { slotCount, slotWords }: RingSize) {
    this.control = new Int32Array(memory, 0, controlBytes / Int32Array.BYTES_PER_ELEMENT);
    this.#slots = Array.from({ length: slotCount }, (_, slot) => {
      const offset = controlBytes + slot * slotWords * Float64Array.BYTES_PER_ELEMENT;
      return new Float64Array(memory, offset, slotWords);
    });
  }

  /** The slot of what is sent as this one, counted from 0. */
  slot(index: number): Float64Array {
    return this.#slots[index % this.#slots.length]!;
  }
}

/** On one processor polling would only keep the other thread from its work. */
export const hasSeveralProcessors = availableParallelism() > 1;

const headerWords = 10;
const entryWords = 5;
const groupRing: RingSize = {
  // Groups in flight, and the orders to suspend or resume and to close.
  slotCount: limits.groupsInFlightMax + 2,
  slotWords: headerWords + limits.groupEntriesMax * entryWords,
};

/** The first word of a group's slot. */
const requestKinds = { close: 0, posted: 1, inline: 2, suspend: 3, resume: 4 } as const;

export function createGroupChannelMemory(): SharedArrayBuffer {
  return createRingMemory(groupRing);
}

export class GroupSender {
  readonly #post: (request: WriterRequest) => void;
  readonly #ring: Ring;
  /** Buffers that the writer knows, by the number that names them. */
  readonly #buffers: SharedArrayBuffer[] = [];
  #sent = 0;

  constructor(memory: SharedArrayBuffer, post: (request: WriterRequest) => void) {
    this.#ring = new Ring(memory, groupRing);
    this.#post = post;
  }

  send(request: WriterRequest): void {
    const slot = this.#ring.slot(this.#sent);
    if (request.kind !== 'group') {
      slot[0] = requestKinds[request.kind];
      if (request.kind === 'resume') this.#post(request);
    } else {
      const known = this.#buffers.indexOf(request.buffer);
      if (known >= 0 && fitsInSlot(request)) writeSlot(slot, request, known);
      else {
        slot[0] = requestKinds.posted;
        slot[1] = known >= 0 ? known : this.#registerBuffer(request.buffer);
        this.#post(request);
      }
    }
    this.#sent += 1;
    const { control } = this.#ring;
    Atomics.store(control, sentWord, this.#sent | 0);
    if (Atomics.load(control, asleepWord) === 1) Atomics.notify(control, sentWord);
  }

  /** Buffers are used in turn and replaced by larger ones: a group of another buffer is long answered. */
  #registerBuffer(buffer: SharedArrayBuffer): number {
    const number = this.#buffers.length === buffersMax ? 0 : this.#buffers.length;
    if (number === 0) this.#buffers.length = 0;
    this.#buffers.push(buffer);
    return number;
  }
}

/** More than are in use at a time. */
const buffersMax = 2 * groupRing.slotCount;

/** Whether a slot can describe all of the group. */
function fitsInSlot({
  blocks,
  consumptionDeltas,
  tableWrites,
  sqlTransactions,
  poolChanges,
}: Group): boolean {
  return (
    blocks.length + consumptionDeltas.length <= limits.groupEntriesMax &&
    tableWrites.length + sqlTransactions.length + poolChangeCount(poolChanges) === 0
  );
}

function writeSlot(slot: Float64Array, group: Group, buffer: number): void {
  const { blocks, consumptionDeltas, outcomes } = group;
  slot[0] = requestKinds.inline;
  slot[1] = buffer;
  slot[2] = group.groupNumber;
  slot[3] = group.generation;
  slot[4] = group.sync === 'FULL' ? 1 : 0;
  slot[5] = blocks.length;
  slot[6] = consumptionDeltas.length;
  slot[7] = outcomes.offset;
  slot[8] = outcomes.length;
  slot[9] = outcomes.retiredThroughGroup;
  let at = headerWords;
  for (const { partition, firstSeq, count, offset, length } of blocks) {
    slot[at] = partition;
    slot[at + 1] = firstSeq;
    slot[at + 2] = count;
    slot[at + 3] = offset;
    slot[at + 4] = length;
    at += entryWords;
  }
  for (const { partition, subscriber, offset, length } of consumptionDeltas) {
    slot[at] = partition;
    slot[at + 1] = subscriber;
    slot[at + 2] = offset;
    slot[at + 3] = length;
    at += entryWords;
  }
}

function readSlot(slot: Float64Array, buffers: readonly SharedArrayBuffer[]): Group {
  const blocks: BlockEntry[] = [];
  const deltas: ConsumptionDeltaEntry[] = [];
  let at = headerWords;
  for (let left = slot[5]!; left > 0; left -= 1, at += entryWords) {
    blocks.push({
      partition: slot[at]!,
      firstSeq: slot[at + 1]!,
      count: slot[at + 2]!,
      offset: slot[at + 3]!,
      length: slot[at + 4]!,
    });
  }
  for (let left = slot[6]!; left > 0; left -= 1, at += entryWords) {
    deltas.push({
      partition: slot[at]!,
      subscriber: slot[at + 1]!,
      offset: slot[at + 2]!,
      length: slot[at + 3]!,
    });
  }
  return {
    kind: 'group',
    groupNumber: slot[2]!,
    generation: slot[3]!,
    sync: slot[4] === 1 ? 'FULL' : 'NORMAL',
    buffer: buffers[slot[1]!]!,
    blocks,
    consumptionDeltas: deltas,
    outcomes: { offset: slot[7]!, length: slot[8]!, retiredThroughGroup: slot[9]! },
    tableWrites: [],
    sqlTransactions: [],
    poolChanges: { create: [], assign: [], truncate: [] },
  };
}

export class GroupReceiver {
  readonly #port: MessagePort;
  readonly #ring: Ring;
  readonly #buffers: SharedArrayBuffer[] = [];
  readonly #waiter: SentCountWaiter;
  #received = 0;

  constructor(memory: SharedArrayBuffer, port: MessagePort, clock: Clock) {
    this.#ring = new Ring(memory, groupRing);
    this.#waiter = new SentCountWaiter(this.#ring.control, clock);
    this.#port = port;
  }

  /** The next request; blocks the thread until there is one. */
  next(): WriterRequest {
    this.#waiter.untilSentExceeds(this.#received | 0);
    const slot = this.#ring.slot(this.#received);
    this.#received += 1;
    if (slot[0] === requestKinds.inline) return readSlot(slot, this.#buffers);
    if (slot[0] === requestKinds.close) return { kind: 'close' };
    if (slot[0] === requestKinds.suspend) return { kind: 'suspend' };
    const request = receiveMessageOnPort(this.#port)!.message as WriterRequest;
    if (request.kind === 'group') this.#buffers[slot[1]!] = request.buffer;
    return request;
  }
}

/**
 * Blocks the writer thread until the next request. Waking it costs it 45 µs and the waking thread 15 (measured), so it
 * polls for `limits.writerSpinMs` while requests follow one another that quickly.
 */
class SentCountWaiter {
  readonly #control: Int32Array;
  readonly #clock: Clock;
  #spinsBeforeSleep = false;

  constructor(control: Int32Array, clock: Clock) {
    this.#control = control;
    this.#clock = clock;
  }

  /** Blocks while no more than `count` requests were sent. */
  untilSentExceeds(count: number): void {
    const control = this.#control;
    if (Atomics.load(control, sentWord) !== count) return;
    const since = this.#clock.monotonicMs();
    while (this.#spinsBeforeSleep) {
      for (let polls = 0; polls < 32; polls += 1) {
        spinPause();
        if (Atomics.load(control, sentWord) !== count) return;
      }
      this.#spinsBeforeSleep = this.#clock.monotonicMs() - since < limits.writerSpinMs;
    }
    Atomics.store(control, asleepWord, 1);
    // A wake-up may be late, for a request that was taken before this sleep, so the count decides.
    while (Atomics.load(control, sentWord) === count) Atomics.wait(control, sentWord, count);
    Atomics.store(control, asleepWord, 0);
    this.#spinsBeforeSleep = hasSeveralProcessors && this.#clock.monotonicMs() - since < limits.writerSpinMs;
  }
}

const answerRing: RingSize = { slotCount: limits.groupsInFlightMax, slotWords: 6 };

/** The first word of an answer's slot. */
const answerKinds = { posted: 0, inline: 1 } as const;

export function createAnswerChannelMemory(): SharedArrayBuffer {
  return createRingMemory(answerRing);
}

export class AnswerSender {
  readonly #ring: Ring;
  readonly #post: (reply: WriterReply) => void;
  #sent = 0;

  constructor(memory: SharedArrayBuffer, post: (reply: WriterReply) => void) {
    this.#ring = new Ring(memory, answerRing);
    this.#post = post;
  }

  send(result: GroupResult): void {
    const { control } = this.#ring;
    const slot = this.#ring.slot(this.#sent);
    const isPlain =
      result.failure === null && result.unusablePartitions.length + result.sqlOutcomes.length === 0;
    slot[0] = isPlain ? answerKinds.inline : answerKinds.posted;
    slot[1] = result.groupNumber;
    slot[2] = result.generation;
    slot[3] = result.maintenanceMs;
    slot[4] = result.commitMs;
    slot[5] = result.cpuUs;
    this.#sent += 1;
    Atomics.store(control, sentWord, this.#sent | 0);
    if (!isPlain) this.#post(result);
    else if (Atomics.load(control, asleepWord) === 1) this.#post({ kind: 'answer ready' });
  }
}

export class AnswerReceiver {
  readonly #ring: Ring;
  #received = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#ring = new Ring(memory, answerRing);
    this.asleep = true;
  }

  /** True: each answer is followed by a message. Poll once more after setting it, since an answer may have come before. */
  set asleep(asleep: boolean) {
    Atomics.store(this.#ring.control, asleepWord, asleep ? 1 : 0);
  }

  get hasNext(): boolean {
    return Atomics.load(this.#ring.control, sentWord) !== (this.#received | 0);
  }

  /** Returns the next answer; undefined if there is none yet, or if it was posted as a message. */
  next(): GroupResult | undefined {
    if (!this.hasNext) return undefined;
    const slot = this.#ring.slot(this.#received);
    if (slot[0] === answerKinds.posted) return undefined;
    this.#received += 1;
    return {
      kind: 'group',
      groupNumber: slot[1]!,
      generation: slot[2]!,
      failure: null,
      appliedThrough: slot[1]!, // it did not fail
      unusablePartitions: [],
      sqlOutcomes: [],
      maintenanceMs: slot[3]!,
      commitMs: slot[4]!,
      cpuUs: slot[5]!,
    };
  }

  /** Skips the slot of an answer that was posted as a message. Answers before it must have been taken. */
  skipPosted(): void {
    this.#received += 1;
  }
}
