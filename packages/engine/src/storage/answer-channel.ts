/**
 * The way of answers from the writer thread back to the session thread: a ring in shared memory, beside the one of groups
 * (`group-channel.ts`). Posting a message costs the writer up to 0.1 ms, for it wakes the other thread's event loop, and a
 * small commit is not much longer than that; a session thread that looks by itself need not be woken. An answer with
 * anything rare in it is posted as a message; its place in the ring says so, and keeps the order.
 *
 * One thread sends, one receives. There are never more answers on their way than groups in flight.
 */
import { limits } from '../core/limits.ts';
import type { GroupResult, WriterReply } from './group-message.ts';

const slotCount = limits.groupsInFlightMax;
const slotWords = 6;

/** What a slot holds: its first word. */
const slotKinds = { posted: 0, written: 1 } as const;

/** Words of the control block, which has a cache line of its own. */
const answeredWord = 0;
const asleepWord = 1;
const controlBytes = 64;

export function createAnswerMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(controlBytes + slotCount * slotWords * Float64Array.BYTES_PER_ELEMENT);
}

class Ring {
  readonly control: Int32Array;
  readonly #slots: Float64Array;

  constructor(memory: SharedArrayBuffer) {
    this.control = new Int32Array(memory, 0, controlBytes / Int32Array.BYTES_PER_ELEMENT);
    this.#slots = new Float64Array(memory, controlBytes);
  }

  /** The slot of the answer with this number, counted from 0. */
  slot(answer: number): Float64Array {
    const from = (answer % slotCount) * slotWords;
    return this.#slots.subarray(from, from + slotWords);
  }
}

export class AnswerSender {
  readonly #ring: Ring;
  readonly #post: (reply: WriterReply) => void;
  #sent = 0;

  constructor(memory: SharedArrayBuffer, post: (reply: WriterReply) => void) {
    this.#ring = new Ring(memory);
    this.#post = post;
  }

  send(result: GroupResult): void {
    const { control } = this.#ring;
    const slot = this.#ring.slot(this.#sent);
    const isPlain = result.failure === null && result.unusable.length + result.sql.length === 0;
    slot[0] = isPlain ? slotKinds.written : slotKinds.posted;
    slot[1] = result.no;
    slot[2] = result.generation;
    slot[3] = result.maintenanceMs;
    slot[4] = result.commitMs;
    slot[5] = result.cpuUs;
    this.#sent += 1;
    Atomics.store(control, answeredWord, this.#sent | 0);
    if (!isPlain) this.#post(result);
    else if (Atomics.load(control, asleepWord) === 1) this.#post({ kind: 'look' });
  }
}

export class AnswerReceiver {
  readonly #ring: Ring;
  #received = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#ring = new Ring(memory);
    this.asleep = true;
  }

  /** Whether each answer is followed by a message that says to look. Look once more after saying so. */
  set asleep(asleep: boolean) {
    Atomics.store(this.#ring.control, asleepWord, asleep ? 1 : 0);
  }

  get hasNext(): boolean {
    return Atomics.load(this.#ring.control, answeredWord) !== (this.#received | 0);
  }

  /** The next answer; undefined if there is none yet, or if it comes as a message, to be given to `posted`. */
  next(): GroupResult | undefined {
    if (!this.hasNext) return undefined;
    const slot = this.#ring.slot(this.#received);
    if (slot[0] === slotKinds.posted) return undefined;
    this.#received += 1;
    return {
      kind: 'group',
      no: slot[1]!,
      generation: slot[2]!,
      failure: null,
      unusable: [],
      sql: [],
      maintenanceMs: slot[3]!,
      commitMs: slot[4]!,
      cpuUs: slot[5]!,
    };
  }

  /** The answer that came as a message is next: there is nothing before it that `next` would give. */
  posted(): void {
    this.#received += 1;
  }
}
