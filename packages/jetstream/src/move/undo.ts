/** What a move has done and can undo, until the step that decides where the queue is. */
import { QueueError } from '@shardlab/engine';

export class Undo {
  readonly #actions: (() => Promise<unknown>)[] = [];

  /** Call it before the change: one whose answer is lost may have taken effect. */
  add(action: () => Promise<unknown>): void {
    this.#actions.push(action);
  }

  /** From here on the move can only be continued. */
  clear(): void {
    this.#actions.length = 0;
  }

  /**
   * Runs the work. If it fails, all is undone, the last change first, and the error is that of the work. A move that is interrupted
   * stays as it is, to be continued.
   */
  async run(work: () => Promise<void>, signal: AbortSignal | undefined): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (signal?.aborted !== true) await this.#undo(error);
      throw error;
    }
  }

  async #undo(error: unknown): Promise<void> {
    const failed: unknown[] = [];
    for (const action of this.#actions.toReversed())
      await action().catch((cause: unknown) => failed.push(cause));
    if (failed.length === 0 || !(error instanceof QueueError)) return;
    throw new QueueError(error.code, {
      message: `${error.message}. Not all of the move could be undone (${String(failed[0])}): repeat it, or start the queue`,
      details: error.details,
      cause: error,
    });
  }
}
