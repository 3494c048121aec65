/**
 * Takes the writer's answers on the session thread. A thread that sleeps in its event loop is woken by a message, which
 * costs the writer and the answer 0.05 to 0.1 ms each, as much as half a sync. So while an answer is due the event loop
 * keeps turning and looks at each turn, everything else in it getting its turn too, but only as long as that has paid:
 * once nothing came in `limits.answerLookMs` it sleeps at once, until an answer comes as quickly again.
 */
import { availableParallelism } from 'node:os';
import { limits } from '../core/limits.ts';
import { AnswerReceiver } from '../storage/answer-channel.ts';
import type { GroupResult } from '../storage/group-message.ts';

/** About 10 µs. */
const looksInTurn = 200;

const severalProcessors = availableParallelism() > 1;

export class WriterAnswers {
  readonly #receiver: AnswerReceiver;
  readonly #onAnswer: (answer: GroupResult) => void;
  #due = 0;
  /** When the oldest answer that is due became the oldest. */
  #since = 0;
  #pays = false;
  #looking = false;

  constructor(memory: SharedArrayBuffer, onAnswer: (answer: GroupResult) => void) {
    this.#receiver = new AnswerReceiver(memory);
    this.#onAnswer = onAnswer;
  }

  /** A group was sent. */
  expect(): void {
    this.#due += 1;
    if (this.#due === 1) this.#since = performance.now();
    if (!this.#pays || this.#looking) return;
    this.#looking = true;
    this.#receiver.asleep = false;
    setImmediate(this.#look);
  }

  readonly #look = (): void => {
    // A turn of the loop costs 2 µs and 0.3 KiB; some looks in each are cheaper than more turns.
    for (let looks = 0; looks < looksInTurn && !this.#receiver.hasNext; looks += 1) Atomics.pause();
    this.take();
    if (this.#due > 0 && performance.now() - this.#since < limits.answerLookMs) {
      setImmediate(this.#look);
      return;
    }
    if (this.#due > 0) this.#pays = false;
    this.#looking = false;
    this.#receiver.asleep = true;
    this.take(); // one may have come before that was said
  };

  /** Takes what lies in shared memory. */
  take(): void {
    for (let answer = this.#receiver.next(); answer !== undefined; answer = this.#receiver.next()) {
      this.#arrived(answer);
    }
  }

  /** An answer that came as a message; those before it were taken. */
  posted(answer: GroupResult): void {
    this.#receiver.posted();
    this.#arrived(answer);
    this.take();
  }

  #arrived(answer: GroupResult): void {
    const now = performance.now();
    this.#pays = severalProcessors && now - this.#since < limits.answerLookMs;
    this.#since = now;
    this.#due -= 1;
    this.#onAnswer(answer);
  }
}
