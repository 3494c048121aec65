/**
 * The way of groups from the session thread to the writer thread: a ring in shared memory. Neither side pays for a
 * structured clone, and while the writer is awake the session thread makes no system call. A group with anything rare in
 * it, or in a buffer that the writer does not know yet, is posted whole as an ordinary message; its place in the ring
 * says so, and the writer takes it from its port without a turn of its event loop.
 *
 * One thread sends, one receives. The sender never has more under way than the ring has slots: the writer answers each
 * group, and `limits.groupsInFlightMax` bounds those without an answer.
 */
import { availableParallelism } from 'node:os';
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { limits } from '../core/limits.ts';
import type { BlockEntry, DeltaEntry, Group, HoldRequest, WriterRequest } from './group-message.ts';

/** A statement of a session that holds the writer and the end of its hold, groups in flight, and the order to close. */
const slotCount = 2 + limits.groupsInFlightMax + 1;
const headerWords = 10;
const entryWords = 5;
const slotWords = headerWords + limits.groupEntriesMax * entryWords;

/** What a slot holds: its first word. */
const slotKinds = { close: 0, posted: 1, written: 2, asked: 3 } as const;

/** Words of the control block, which has a cache line of its own. */
const sentWord = 0;
const asleepWord = 1;
const controlBytes = 64;

export function createChannelMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(controlBytes + slotCount * slotWords * Float64Array.BYTES_PER_ELEMENT);
}

interface Views {
  control: Int32Array;
  /** Float64 holds every number of a group exactly: sequence and group numbers pass 2³². */
  slots: Float64Array[];
}

function viewsOf(memory: SharedArrayBuffer): Views {
  const slots = Array.from({ length: slotCount }, (_, slot) => {
    const offset = controlBytes + slot * slotWords * Float64Array.BYTES_PER_ELEMENT;
    return new Float64Array(memory, offset, slotWords);
  });
  return { control: new Int32Array(memory, 0, controlBytes / Int32Array.BYTES_PER_ELEMENT), slots };
}

export class GroupSender {
  readonly #post: (request: Group | HoldRequest) => void;
  readonly #views: Views;
  /** Buffers that the writer knows, by the number that names them. */
  readonly #buffers: SharedArrayBuffer[] = [];
  #sent = 0;

  constructor(memory: SharedArrayBuffer, post: (request: Group | HoldRequest) => void) {
    this.#views = viewsOf(memory);
    this.#post = post;
  }

  send(request: WriterRequest): void {
    const slot = this.#views.slots[this.#sent % slotCount]!;
    if (request.kind === 'close') slot[0] = slotKinds.close;
    else if (request.kind !== 'group') {
      slot[0] = slotKinds.asked;
      this.#post(request);
    } else {
      const known = this.#buffers.indexOf(request.buffer);
      if (known >= 0 && fits(request)) write(slot, request, known);
      else {
        slot[0] = slotKinds.posted;
        slot[1] = known >= 0 ? known : this.#introduce(request.buffer);
        this.#post(request);
      }
    }
    this.#sent += 1;
    const { control } = this.#views;
    Atomics.store(control, sentWord, this.#sent | 0);
    if (Atomics.load(control, asleepWord) === 1) Atomics.notify(control, sentWord);
  }

  /** Buffers are used in turn and replaced by larger ones: a group of another buffer is long answered. */
  #introduce(buffer: SharedArrayBuffer): number {
    const number = this.#buffers.length === buffersMax ? 0 : this.#buffers.length;
    if (number === 0) this.#buffers.length = 0;
    this.#buffers.push(buffer);
    return number;
  }
}

/** More than are in use at a time. */
const buffersMax = 2 * slotCount;

/** Whether all of the group can be said in a slot. */
function fits({ blocks, deltas, side, sql, pool }: Group): boolean {
  return (
    blocks.length + deltas.length <= limits.groupEntriesMax &&
    side.length + sql.length + pool.create.length + pool.assign.length + pool.truncate.length === 0
  );
}

function write(slot: Float64Array, group: Group, buffer: number): void {
  const { blocks, deltas, outcomes } = group;
  slot[0] = slotKinds.written;
  slot[1] = buffer;
  slot[2] = group.no;
  slot[3] = group.generation;
  slot[4] = group.sync === 'FULL' ? 1 : 0;
  slot[5] = blocks.length;
  slot[6] = deltas.length;
  slot[7] = outcomes.offset;
  slot[8] = outcomes.length;
  slot[9] = outcomes.retired;
  let at = headerWords;
  for (const { partition, firstSeq, count, offset, length } of blocks) {
    slot[at] = partition;
    slot[at + 1] = firstSeq;
    slot[at + 2] = count;
    slot[at + 3] = offset;
    slot[at + 4] = length;
    at += entryWords;
  }
  for (const { partition, subscriber, offset, length } of deltas) {
    slot[at] = partition;
    slot[at + 1] = subscriber;
    slot[at + 2] = offset;
    slot[at + 3] = length;
    at += entryWords;
  }
}

function read(slot: Float64Array, buffers: readonly SharedArrayBuffer[]): Group {
  const blocks: BlockEntry[] = [];
  const deltas: DeltaEntry[] = [];
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
    no: slot[2]!,
    generation: slot[3]!,
    sync: slot[4] === 1 ? 'FULL' : 'NORMAL',
    buffer: buffers[slot[1]!]!,
    blocks,
    deltas,
    outcomes: { offset: slot[7]!, length: slot[8]!, retired: slot[9]! },
    side: [],
    sql: [],
    pool: { create: [], assign: [], truncate: [] },
  };
}

export class GroupReceiver {
  readonly #port: MessagePort;
  readonly #views: Views;
  readonly #buffers: SharedArrayBuffer[] = [];
  readonly #wait: SharedWait;
  #received = 0;

  constructor(memory: SharedArrayBuffer, port: MessagePort) {
    this.#views = viewsOf(memory);
    this.#wait = new SharedWait(this.#views.control);
    this.#port = port;
  }

  /** The next request; blocks the thread until there is one. */
  next(): WriterRequest {
    this.#wait.whileSent(this.#received | 0);
    const slot = this.#views.slots[this.#received % slotCount]!;
    this.#received += 1;
    if (slot[0] === slotKinds.close) return { kind: 'close' };
    if (slot[0] === slotKinds.written) return read(slot, this.#buffers);
    const request = receiveMessageOnPort(this.#port)!.message as Group | HoldRequest;
    if (request.kind === 'group') this.#buffers[slot[1]!] = request.buffer;
    return request;
  }
}

const severalProcessors = availableParallelism() > 1;

/**
 * Waits for the next request. Waking a thread that sleeps on another processor costs it 45 µs here and the one that wakes
 * it 15: a tenth of a small commit each time. So it looks for a while before it sleeps, but only as long as that has paid:
 * once nothing came in that while it sleeps at once, until a request follows the one before as closely again.
 */
class SharedWait {
  readonly #control: Int32Array;
  #spins = false;

  constructor(control: Int32Array) {
    this.#control = control;
  }

  /** Blocks while no more than `count` requests were sent. */
  whileSent(count: number): void {
    const control = this.#control;
    if (Atomics.load(control, sentWord) !== count) return;
    const since = performance.now();
    while (this.#spins) {
      for (let looks = 0; looks < 32; looks += 1) {
        Atomics.pause();
        if (Atomics.load(control, sentWord) !== count) return;
      }
      this.#spins = performance.now() - since < limits.writerSpinMs;
    }
    Atomics.store(control, asleepWord, 1);
    // A wake-up may come late, for a request that was taken before this sleep: it only says to look again.
    while (Atomics.load(control, sentWord) === count) Atomics.wait(control, sentWord, count);
    Atomics.store(control, asleepWord, 0);
    this.#spins = severalProcessors && performance.now() - since < limits.writerSpinMs;
  }
}
