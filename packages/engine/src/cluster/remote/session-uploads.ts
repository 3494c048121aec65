/**
 * Payloads that a client streams in, at the instance, by the numbers that the client gave them. The session has each until
 * the commit that brings its message takes it; what is not taken is discarded with the transaction, the session or its
 * connection. A session has one under way at a time, and of that at most `uploadPartsMax` parts beside its chunks.
 */
import { QueueError } from '../../core/errors.ts';
import type { InstanceSession, UploadedPayload } from '../../instance/session.ts';
import type { BodyReader } from './body-reader.ts';
import { protocolError, requests } from './protocol.ts';
import { UploadParts } from './upload-parts.ts';

interface Upload {
  parts: UploadParts;
  uploaded: Promise<UploadedPayload>;
  /** Once all of it lies at the instance. */
  done?: UploadedPayload;
}

export class SessionUploads {
  readonly #session: Pick<InstanceSession, 'upload'>;
  readonly #uploads = new Map<number, Upload>();

  constructor(session: Pick<InstanceSession, 'upload'>) {
    this.#session = session;
  }

  /** Obeys a request to begin, go on with or end an upload; resolves when the client may go on. */
  async obey(kind: number, body: BodyReader): Promise<void> {
    const no = body.u32();
    if (kind === requests.upload) return this.#begin(no, body.text());
    const upload = this.#uploads.get(no);
    if (upload === undefined) throw protocolError(`Upload ${no} is not open`);
    if (kind === requests.part) {
      const start = body.skip(body.left);
      return upload.parts.push(body.source.subarray(start, body.end));
    }
    upload.parts.end();
    upload.done = await upload.uploaded;
  }

  /** Resolves when the first part may come; a refusal is its end. */
  async #begin(no: number, queue: string): Promise<void> {
    for (const upload of this.#uploads.values()) {
      if (upload.done === undefined) throw protocolError('A session has one upload under way at a time');
    }
    const parts = new UploadParts();
    const uploaded = this.#session.upload(queue, { payload: parts });
    uploaded.catch((error) => parts.fail(error));
    this.#uploads.set(no, { parts, uploaded });
    try {
      await parts.wanted;
    } catch (error) {
      this.#uploads.delete(no);
      throw error;
    }
  }

  /** For the message that comes now: whoever takes it has it. */
  take(no: number): UploadedPayload {
    const uploaded = this.#uploads.get(no)?.done;
    if (uploaded === undefined) throw protocolError(`Upload ${no} is not there`);
    this.#uploads.delete(no);
    return uploaded;
  }

  /** The client gave it up, or has no message for it. */
  abandon(no: number): void {
    const upload = this.#uploads.get(no);
    if (upload === undefined) return; // it was never begun
    this.#uploads.delete(no);
    upload.parts.fail(new QueueError('PAYLOAD_INCOMPLETE'));
    upload.uploaded.then(
      ({ discard }) => discard(),
      () => undefined, // then nothing of it is kept
    );
  }

  /** Of those that no message took nothing is kept. */
  discard(): void {
    for (const no of this.#uploads.keys()) this.abandon(no);
  }
}
