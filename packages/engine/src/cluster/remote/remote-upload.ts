/**
 * A payload on its way to an instance in another process, in parts of a chunk. One fills while the ones before it are
 * taken in there; whoever brings the bytes waits when two are not answered yet, so neither side has more of it in memory.
 * What fits one part is not sent at all, and travels with its message.
 */
import { limits } from '../../core/limits.ts';
import { assertStreamable, type UploadTarget } from '../../instance/payload-upload.ts';
import type { ClientLink } from './client-link.ts';
import type { Outbox } from './outbox.ts';
import { requests } from './protocol.ts';

/** On which connection, and what it is called there. */
interface UploadPlace {
  link: ClientLink;
  session: number;
  upload: number;
}

/** All of it lies at the instance, under the number that the session gave it. */
export interface RemotePayload {
  upload: number;
}

export class RemoteUpload implements UploadTarget<RemotePayload | Buffer> {
  readonly #place: UploadPlace;
  /** Of the connection that it began on: on another one the instance knows nothing of it. */
  readonly #generation: number;
  /** Aborted when that connection is lost. */
  readonly lost: AbortSignal;
  readonly #filling = Buffer.allocUnsafeSlow(limits.chunkBytes);
  #used = 0;
  #bytes = 0;
  #parts = 0;
  readonly #unanswered: Promise<void>[] = [];

  /** The session must be open on the connection of now. */
  constructor(place: UploadPlace) {
    this.#place = place;
    this.#generation = place.link.generation;
    this.lost = place.link.ended;
  }

  get #open(): boolean {
    const { link } = this.#place;
    return link.open && link.generation === this.#generation;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** To be ended by `finish` or `abandon`. Throws what the instance has against it. */
  begin(queue: string): Promise<void> {
    return this.#ask(requests.upload, (outbox) => outbox.text(queue));
  }

  async write(piece: Uint8Array): Promise<void> {
    assertStreamable(this.#bytes + piece.byteLength);
    this.#bytes += piece.byteLength;
    for (let from = 0; from < piece.byteLength; ) {
      if (this.#used === limits.chunkBytes) await this.#send();
      const to = Math.min(piece.byteLength, from + limits.chunkBytes - this.#used);
      this.#filling.set(piece.subarray(from, to), this.#used);
      this.#used += to - from;
      from = to;
    }
  }

  async finish(): Promise<RemotePayload | Buffer> {
    if (this.#parts === 0) {
      this.abandon();
      return this.#filling.subarray(0, this.#used);
    }
    await this.#send();
    await Promise.all(this.#unanswered);
    await this.#ask(requests.uploaded, () => undefined);
    return { upload: this.#place.upload };
  }

  abandon(): void {
    if (!this.#open) return; // it went with the connection
    this.#place.link.tell(requests.abandon, (outbox) => this.#writeNumbers(outbox));
  }

  async #send(): Promise<void> {
    if (this.#unanswered.length >= limits.uploadPartsMax) await this.#unanswered.shift();
    while (this.#open && this.#place.link.full) await this.#place.link.drained();
    const answer = this.#ask(requests.part, (outbox) => outbox.bytes(this.#filling, 0, this.#used));
    answer.catch(() => undefined); // heard of by one of the next, or at the end
    this.#unanswered.push(answer);
    this.#parts += 1;
    this.#used = 0;
  }

  async #ask(kind: number, write: (outbox: Outbox) => void): Promise<void> {
    if (!this.#open) throw this.lost.reason;
    await this.#place.link.ask(kind, (outbox) => {
      this.#writeNumbers(outbox);
      write(outbox);
    });
  }

  #writeNumbers(outbox: Outbox): void {
    outbox.u32(this.#place.session);
    outbox.u32(this.#place.upload);
  }
}
