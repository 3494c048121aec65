/** The latest events of a run as server-sent event frames, each made once for all readers, for those that resume. */
import type { RunEvent } from '@shardlab/contract';

export interface EventLogOptions {
  countMax: number;
  bytesMax: number;
}

/** No event comes after the end: a client that has seen this id needs nothing more, even after a restart of the server. */
export const endEventId = Number.MAX_SAFE_INTEGER;

export class EventLog {
  readonly #options: EventLogOptions;
  #frames: string[] = [];
  #bytes = 0;
  #lastId = 0;

  constructor(options: EventLogOptions) {
    this.#options = options;
  }

  get lastId(): number {
    return this.#lastId;
  }

  append(event: RunEvent): string {
    this.#lastId += 1;
    const frame = toFrame(event, this.#lastId);
    this.#frames.push(frame);
    this.#bytes += frame.length;
    while (this.#frames.length > this.#options.countMax || this.#bytes > this.#options.bytesMax) {
      this.#bytes -= this.#frames.shift()!.length;
    }
    return frame;
  }

  /** All that came after the event of this id; undefined if some of it is no longer kept, or the id never was. */
  since(id: number): string[] | undefined {
    const firstKept = this.#lastId - this.#frames.length + 1;
    if (id > this.#lastId || id < firstKept - 1) return undefined;
    return this.#frames.slice(id - firstKept + 1);
  }
}

/** JSON has no line breaks outside of its strings and escapes those inside, so one `data` line holds it. */
export function toFrame(event: RunEvent, id: number): string {
  return `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
