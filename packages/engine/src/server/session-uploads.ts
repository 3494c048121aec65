/**
 * The uploads of one remote session, by the numbers that its client gave them. A finished payload waits here for the commit that
 * has its message. A payload that no commit uses is discarded with the transaction, the session or the connection. A session has
 * one upload in progress at a time, with at most `uploadPartsMax` parts in memory.
 */

import { QueueError } from '../api/errors.ts';
import type { UploadNumber } from '../model/ids.ts';
import type { InstanceSession } from '../runtime/instance-session.ts';
import type { UploadedPayload } from '../runtime/payload-uploads.ts';
import type { BodyReader } from '../wire/body-reader.ts';
import { protocolError, requests } from '../wire/protocol.ts';
import { UploadParts } from './upload-parts.ts';

interface Upload {
  parts: UploadParts;
  pendingPayload: Promise<UploadedPayload>;
  /** Set once the whole payload is stored. */
  payload?: UploadedPayload;
}

export class SessionUploads {
  readonly #session: Pick<InstanceSession, 'uploads'>;
  readonly #uploads = new Map<UploadNumber, Upload>();
  /** Number of the last upload that began: the only one that can be in progress. */
  #lastNumber: UploadNumber = 0;

  constructor(session: Pick<InstanceSession, 'uploads'>) {
    this.#session = session;
  }

  /** Begins, continues or finishes an upload; resolves when the client may send the next request. */
  async handleRequest(kind: number, body: BodyReader): Promise<void> {
    const uploadNumber = body.u32();
    if (kind === requests.beginUpload) return this.#begin(uploadNumber, body.text());
    const upload = this.#uploads.get(uploadNumber);
    if (upload === undefined) throw protocolError(`Upload ${uploadNumber} is not open`);
    if (kind === requests.uploadPart) {
      const start = body.skip(body.bytesLeft);
      return upload.parts.push(body.source.subarray(start, body.end));
    }
    upload.parts.end();
    upload.payload = await upload.pendingPayload;
  }

  /** Resolves when the first part may be sent. A refused upload is over. */
  async #begin(uploadNumber: UploadNumber, queue: string): Promise<void> {
    const last = this.#uploads.get(this.#lastNumber);
    if (last !== undefined && last.payload === undefined)
      throw protocolError('A session has one upload in progress at a time');
    this.#lastNumber = uploadNumber;
    const parts = new UploadParts();
    const uploaded = this.#session.uploads.upload(queue, { payload: parts });
    uploaded.catch((error) => parts.fail(error));
    this.#uploads.set(uploadNumber, { parts, pendingPayload: uploaded });
    try {
      await parts.whenStarted;
    } catch (error) {
      this.#uploads.delete(uploadNumber);
      throw error;
    }
  }

  /** Gives the payload to the message that refers to it. */
  takeUploaded(uploadNumber: UploadNumber): UploadedPayload {
    const uploaded = this.#uploads.get(uploadNumber)?.payload;
    if (uploaded === undefined) throw protocolError(`Upload ${uploadNumber} is not finished`);
    this.#uploads.delete(uploadNumber);
    return uploaded;
  }

  /** Discards an upload, finished or not. */
  cancel(uploadNumber: UploadNumber): void {
    const upload = this.#uploads.get(uploadNumber);
    if (upload === undefined) return; // the upload was refused
    this.#uploads.delete(uploadNumber);
    upload.parts.fail(new QueueError('PAYLOAD_INCOMPLETE'));
    upload.pendingPayload.then(
      ({ discard }) => discard(),
      () => undefined, // a failed upload has discarded its payload itself
    );
  }

  /** Discards all uploads that no message refers to. */
  cancelAll(): void {
    for (const uploadNumber of this.#uploads.keys()) this.cancel(uploadNumber);
  }
}
