import type { RemoteSessionNumber } from '../model/ids.ts';
import type { Random } from '../model/ports.ts';

/** Gives each session of a connection a number, and an id of 16 bytes that no other client has. */
export class SessionIds {
  readonly #prefix: Uint8Array;
  #last: RemoteSessionNumber = 0;

  constructor(random: Random) {
    this.#prefix = random.bytes(12);
  }

  next(): { sessionNumber: RemoteSessionNumber; sessionId: Buffer } {
    this.#last += 1;
    const sessionId = Buffer.alloc(16);
    sessionId.set(this.#prefix);
    sessionId.writeUInt32LE(this.#last, 12);
    return { sessionNumber: this.#last, sessionId };
  }
}
