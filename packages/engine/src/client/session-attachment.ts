/**
 * Where a remote session is open: on one connection of its link. After the connection is lost, the session is opened again
 * on the next one under the same id and with a higher attachment number, which closes it on the earlier connection.
 */
import type { AttachmentNumber, InstanceId, LinkGeneration, RemoteSessionNumber } from '../model/ids.ts';
import type { FrameWriter } from '../wire/frame-writer.ts';
import { requests } from '../wire/protocol.ts';
import type { ClientLink } from './client-link.ts';

export class SessionAttachment {
  readonly link: ClientLink;
  readonly sessionNumber: RemoteSessionNumber;
  readonly #sessionId: Buffer;
  /** Generation of the link at the last `attach`; 0: never attached. */
  #generation: LinkGeneration = 0;
  #attachmentNumber: AttachmentNumber = 0;
  #roundTrips = 0;

  constructor(link: ClientLink, session: { sessionNumber: RemoteSessionNumber; sessionId: Buffer }) {
    this.link = link;
    this.sessionNumber = session.sessionNumber;
    this.#sessionId = session.sessionId;
  }

  /** Whether the session is open on the current connection. */
  get isCurrent(): boolean {
    return this.link.isOpen && this.#generation === this.link.generation;
  }

  /** Requests that were sent for the session, each answered or lost. */
  get roundTrips(): number {
    return this.#roundTrips;
  }

  /** The number of the instance; undefined while there is no connection. */
  get instance(): InstanceId | undefined {
    return this.link.instance;
  }

  /** The number of the instance. Throws `INSTANCE_UNREACHABLE`. */
  ensureConnected(): Promise<InstanceId> {
    return this.link.ensureConnected();
  }

  /** Sends a request of the session: one round trip. As `ClientLink.request`. */
  request<T>(kind: number, write: (writer: FrameWriter) => void): Promise<T> {
    this.#roundTrips += 1;
    return this.link.request<T>(kind, write);
  }

  /** Opens a consumer: one round trip. As `ClientLink.openConsumer`. */
  openConsumer(...args: Parameters<ClientLink['openConsumer']>): ReturnType<ClientLink['openConsumer']> {
    this.#roundTrips += 1;
    return this.link.openConsumer(...args);
  }

  /** Opens the session on the current connection; connects first if necessary. Throws `INSTANCE_UNREACHABLE`. */
  async attach(): Promise<void> {
    if (!this.link.isOpen) {
      await this.link.ensureConnected();
      if (this.isCurrent) return; // two producers or consumers of the session have waited for the connection
    }
    this.#generation = this.link.generation;
    this.#attachmentNumber += 1;
    this.link.sendOneWay(requests.openSession, (writer) => {
      writer.u32(this.sessionNumber);
      writer.u32(this.#attachmentNumber);
      writer.bytes(this.#sessionId, 0, this.#sessionId.length);
    });
  }
}
