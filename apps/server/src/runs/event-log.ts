/** The latest events of a run, kept for clients that resume. Each is encoded once for all clients. */
import type { RunEvent } from '@shardlab/contract';

export interface EventLogOptions {
  countMax: number;
  bytesMax: number;
  /** The first event has the id after this one, so that an id of an earlier log is not taken for one of this. */
  idBefore: number;
}

/** The id of the `end` event, which is always the last: a client that has seen it needs nothing more, even after a server restart. */
export const endEventId = Number.MAX_SAFE_INTEGER;

export class EventLog {
  readonly #options: EventLogOptions;
  #frames: string[] = [];
  #bytes = 0;
  #lastId: number;

  constructor(options: EventLogOptions) {
    this.#options = options;
    this.#lastId = options.idBefore;
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

  /** All events after this id; undefined if some of them are no longer kept, or the id was never assigned. */
  since(id: number): string[] | undefined {
    const firstKept = this.#lastId - this.#frames.length + 1;
    if (id > this.#lastId || id < firstKept - 1) return undefined;
    return this.#frames.slice(id - firstKept + 1);
  }
}

export function toFrame(event: RunEvent, id: number): string {
  return `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The frame of an event whose fields are JSON already. JSON has no line breaks, so one `data` line holds the event. */
export function frameOf(
  type: RunEvent['type'],
  fields: Readonly<Record<string, string>>,
  id: number,
): string {
  const members = Object.entries(fields).map(([name, json]) => `,"${name}":${json}`);
  return `id: ${id}\nevent: ${type}\ndata: {"type":"${type}"${members.join('')}}\n\n`;
}
