/**
 * Passes groups from the session thread to the writer thread through a ring in shared memory. Neither side pays for a
 * structured clone, and while the writer is awake the session thread makes no system call. A group with rare content, or
 * in a buffer that the writer has not seen, is posted whole as a message; its slot in the ring says so, and the writer
 * takes the message from its port without a turn of its event loop.
 *
 * One thread sends, one receives. The ring cannot overflow: the writer answers each group, and `limits.groupsInFlightMax`
 * bounds the groups without an answer.
 */
import { availableParallelism } from 'node:os';
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { limits } from '../../api/limits.ts';
import type {
  BlockEntry,
  ConsumptionDeltaEntry,
  Group,
  WriterRequest,
  WriterReservationRequest,
} from '../../model/group-message.ts';
import type { Clock } from '../../model/ports.ts';

/** A statement of a session that reserved the writer, the end of its reservation, groups in flight, and the request to close. */
const slotCount = 2 + limits.groupsInFlightMax + 1;
const headerWords = 10;
const entryWords = 5;
const slotWords = headerWords + limits.groupEntriesMax * entryWords;

/** The first word of a slot. */
const slotKinds = { close: 0, posted: 1, inline: 2, reservation: 3 } as const;

/** Words of the control block, which fills a cache line. */
const sentWord = 0;
const asleepWord = 1;
const controlBytes = 64;

export function createGroupChannelMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(controlBytes + slotCount * slotWords * Float64Array.BYTES_PER_ELEMENT);
}

interface RingViews {
  control: Int32Array;
  /** Float64 holds every number of a group exactly: sequence and group numbers pass 2³². */
  slots: Float64Array[];
}

function ringViewsOf(memory: SharedArrayBuffer): RingViews {
  const slots = Array.from({ length: slotCount }, (_, slot) => {
    const offset = controlBytes + slot * slotWords * Float64Array.BYTES_PER_ELEMENT;
    return new Float64Array(memory, offset, slotWords);
  });
  return { control: new Int32Array(memory, 0, controlBytes / Int32Array.BYTES_PER_ELEMENT), slots };
}

export class GroupSender {
  readonly #post: (request: Group | WriterReservationRequest) => void;
  readonly #views: RingViews;
  /** Buffers that the writer knows, by the number that names them. */
  readonly #buffers: SharedArrayBuffer[] = [];
  #sent = 0;

  constructor(memory: SharedArrayBuffer, post: (request: Group | WriterReservationRequest) => void) {
    this.#views = ringViewsOf(memory);
    this.#post = post;
  }

  send(request: WriterRequest): void {
    const slot = this.#views.slots[this.#sent % slotCount]!;
    if (request.kind === 'close') slot[0] = slotKinds.close;
    else if (request.kind !== 'group') {
      slot[0] = slotKinds.reservation;
      this.#post(request);
    } else {
      const known = this.#buffers.indexOf(request.buffer);
      if (known >= 0 && fitsInSlot(request)) writeSlot(slot, request, known);
      else {
        slot[0] = slotKinds.posted;
        slot[1] = known >= 0 ? known : this.#registerBuffer(request.buffer);
        this.#post(request);
      }
    }
    this.#sent += 1;
    const { control } = this.#views;
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
const buffersMax = 2 * slotCount;

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
    tableWrites.length +
      sqlTransactions.length +
      poolChanges.create.length +
      poolChanges.assign.length +
      poolChanges.truncate.length ===
      0
  );
}

function writeSlot(slot: Float64Array, group: Group, buffer: number): void {
  const { blocks, consumptionDeltas, outcomes } = group;
  slot[0] = slotKinds.inline;
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
  readonly #views: RingViews;
  readonly #buffers: SharedArrayBuffer[] = [];
  readonly #waiter: SentCountWaiter;
  #received = 0;

  constructor(memory: SharedArrayBuffer, port: MessagePort, clock: Clock) {
    this.#views = ringViewsOf(memory);
    this.#waiter = new SentCountWaiter(this.#views.control, clock);
    this.#port = port;
  }

  /** The next request; blocks the thread until there is one. */
  next(): WriterRequest {
    this.#waiter.untilSentExceeds(this.#received | 0);
    const slot = this.#views.slots[this.#received % slotCount]!;
    this.#received += 1;
    if (slot[0] === slotKinds.close) return { kind: 'close' };
    if (slot[0] === slotKinds.inline) return readSlot(slot, this.#buffers);
    const request = receiveMessageOnPort(this.#port)!.message as Group | WriterReservationRequest;
    if (request.kind === 'group') this.#buffers[slot[1]!] = request.buffer;
    return request;
  }
}

const hasSeveralProcessors = availableParallelism() > 1;

/**
 * Waits for the next request. Waking a thread on another processor costs it 45 µs and the waking thread 15 (measured), a
 * tenth of a small commit. So the thread spins before it sleeps, but only while that pays: after a spin without a request
 * it sleeps at once, until a request again follows the one before within `limits.writerSpinMs`.
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
        Atomics.pause();
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
