/**
 * Passes answers from the writer thread to the session thread through a ring in shared memory, beside the one of groups
 * (`group-channel.ts`). Posting a message costs the writer up to 0.1 ms, because it wakes the other thread's event loop,
 * and a small commit takes little longer; a session thread that polls need not be woken. An answer with rare content is
 * posted as a message; its slot in the ring says so and keeps the order.
 *
 * One thread sends, one receives. There are never more answers in the ring than groups in flight.
 */

import { availableParallelism } from 'node:os';
import { limits } from '../../api/limits.ts';
import type { GroupResult, WriterReply } from '../../model/group-message.ts';
import type { Clock, Ports, Timers } from '../../model/ports.ts';

const slotCount = limits.groupsInFlightMax;
const slotWords = 6;

/** The first word of a slot. */
const slotKinds = { posted: 0, inline: 1 } as const;

/** Words of the control block, which fills a cache line. */
const answerCountWord = 0;
const asleepWord = 1;
const controlBytes = 64;

export function createAnswerChannelMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(controlBytes + slotCount * slotWords * Float64Array.BYTES_PER_ELEMENT);
}

class AnswerRing {
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
  readonly #ring: AnswerRing;
  readonly #post: (reply: WriterReply) => void;
  #sent = 0;

  constructor(memory: SharedArrayBuffer, post: (reply: WriterReply) => void) {
    this.#ring = new AnswerRing(memory);
    this.#post = post;
  }

  send(result: GroupResult): void {
    const { control } = this.#ring;
    const slot = this.#ring.slot(this.#sent);
    const isPlain =
      result.failure === null && result.unusablePartitions.length + result.sqlOutcomes.length === 0;
    slot[0] = isPlain ? slotKinds.inline : slotKinds.posted;
    slot[1] = result.groupNumber;
    slot[2] = result.generation;
    slot[3] = result.maintenanceMs;
    slot[4] = result.commitMs;
    slot[5] = result.cpuUs;
    this.#sent += 1;
    Atomics.store(control, answerCountWord, this.#sent | 0);
    if (!isPlain) this.#post(result);
    else if (Atomics.load(control, asleepWord) === 1) this.#post({ kind: 'answer ready' });
  }
}

class AnswerReceiver {
  readonly #ring: AnswerRing;
  #received = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#ring = new AnswerRing(memory);
    this.asleep = true;
  }

  /** True: each answer is followed by a message. Poll once more after setting it, since an answer may have come before. */
  set asleep(asleep: boolean) {
    Atomics.store(this.#ring.control, asleepWord, asleep ? 1 : 0);
  }

  get hasNext(): boolean {
    return Atomics.load(this.#ring.control, answerCountWord) !== (this.#received | 0);
  }

  /** The next answer; undefined if there is none yet, or if it was posted as a message. */
  next(): GroupResult | undefined {
    if (!this.hasNext) return undefined;
    const slot = this.#ring.slot(this.#received);
    if (slot[0] === slotKinds.posted) return undefined;
    this.#received += 1;
    return {
      kind: 'group',
      groupNumber: slot[1]!,
      generation: slot[2]!,
      failure: null,
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

/** A turn of the event loop polls for about 10 µs. */
const pollsPerTurn = 200;

const severalProcessors = availableParallelism() > 1;

/**
 * Receives the writer's answers on the session thread. Waking a sleeping event loop by a message costs the writer and the
 * answer 0.05 to 0.1 ms each, as much as half a sync. So while an answer is due the event loop polls in every turn, beside
 * its other work, but only while that pays: after `limits.answerSpinMs` without an answer it sleeps at once, until an
 * answer again arrives as quickly.
 */
export class WriterAnswers {
  readonly #receiver: AnswerReceiver;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #onAnswer: (answer: GroupResult) => void;
  #dueCount = 0;
  /** Monotonic time since which the oldest due answer has been the oldest. */
  #oldestDueSince = 0;
  #spinningPays = false;
  #polling = false;

  constructor(
    memory: SharedArrayBuffer,
    { clock, timers }: Pick<Ports, 'clock' | 'timers'>,
    onAnswer: (answer: GroupResult) => void,
  ) {
    this.#clock = clock;
    this.#timers = timers;
    this.#receiver = new AnswerReceiver(memory);
    this.#onAnswer = onAnswer;
  }

  /** A group was sent. */
  expectAnswer(): void {
    this.#dueCount += 1;
    if (this.#dueCount === 1) this.#oldestDueSince = this.#clock.monotonicMs();
    if (!this.#spinningPays || this.#polling) return;
    this.#polling = true;
    this.#receiver.asleep = false;
    this.#timers.nextTurn(this.#poll);
  }

  readonly #poll = (): void => {
    // A turn of the event loop costs 2 µs and 0.3 KiB of garbage, so several polls in each are cheaper than more turns.
    for (let polls = 0; polls < pollsPerTurn && !this.#receiver.hasNext; polls += 1) Atomics.pause();
    this.takeAnswers();
    if (this.#dueCount > 0 && this.#clock.monotonicMs() - this.#oldestDueSince < limits.answerSpinMs) {
      this.#timers.nextTurn(this.#poll);
      return;
    }
    if (this.#dueCount > 0) this.#spinningPays = false;
    this.#polling = false;
    this.#receiver.asleep = true;
    this.takeAnswers(); // an answer may have arrived before `asleep` was set
  };

  /** Takes the answers that are in shared memory. */
  takeAnswers(): void {
    for (let answer = this.#receiver.next(); answer !== undefined; answer = this.#receiver.next()) {
      this.#onAnswerArrived(answer);
    }
  }

  /** An answer that was posted as a message; those before it were taken. */
  onPostedAnswer(answer: GroupResult): void {
    this.#receiver.skipPosted();
    this.#onAnswerArrived(answer);
    this.takeAnswers();
  }

  #onAnswerArrived(answer: GroupResult): void {
    const now = this.#clock.monotonicMs();
    this.#spinningPays = severalProcessors && now - this.#oldestDueSince < limits.answerSpinMs;
    this.#oldestDueSince = now;
    this.#dueCount -= 1;
    this.#onAnswer(answer);
  }
}
