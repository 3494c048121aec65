/**
 * Limits the resources that requests occupy at the same time, with fair shares for queues and clients (`fair-shares.ts`). A
 * request takes a place when it is admitted and frees it when its response ends, in whatever way: a client that does not read its
 * response keeps only its own places.
 */
import { queueLimits } from '@shardlab/contract';
import { QueueError } from '@shardlab/engine';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServerError, type ServerErrorCode } from '../errors.ts';
import { FairShares, type FullShare, shareWeights } from '../fair-shares.ts';
import { limits } from '../limits.ts';
import { closeAfter, limitReadTime, type Pace, type streamedBody } from './body-pace.ts';
import { clientOf } from './client-address.ts';
import { whenAnswered } from './when-answered.ts';

type Party = 'queue' | 'client';

/** How an error says whose share is used up. */
const inWords: Readonly<Record<FullShare<Party>, string>> = {
  queue: 'for this queue, which has its share',
  client: 'from this client, which has its share',
  server: 'over all clients and queues',
};

/** Bytes of one answer that count until the client has read it. */
export interface AnswerBytes {
  /** Throws `ANSWERS_FULL`. */
  take(bytes: number): void;
}

export class Admission {
  readonly #dequeues = new FairShares<Party>(limits.dequeuesMax, shareWeights);
  readonly #uploads = new FairShares<Party>(limits.uploadsMax, shareWeights);
  readonly #downloads = new FairShares<Party>(limits.downloadsMax, shareWeights);
  readonly #readPace: Pace;
  readonly #answerBytes = new FairShares<'client'>(limits.answersBytesMax, shareWeights);
  readonly #bodyBytes = new FairShares<'client'>(limits.bodiesBytesMax, shareWeights);

  /** `readPace`: the slowest that a client may read messages and payloads. */
  constructor(readPace: Pace) {
    this.#readPace = readPace;
  }

  /** Dequeue calls in progress. */
  get dequeues(): number {
    return this.#dequeues.used;
  }

  /** Bytes of bodies that are being received, or whose requests are in progress. */
  get bodyBytes(): number {
    return this.#bodyBytes.used;
  }

  /** Throws `DEQUEUES_FULL`, `ANSWERS_FULL`. */
  dequeue(queue: string, reply: FastifyReply): AnswerBytes {
    admit(this.#dequeues, partiesOf(queue, reply), reply, (details, whose) =>
      refused('DEQUEUES_FULL', `Too many concurrent dequeue calls ${whose}`, details),
    );
    return this.answer(reply);
  }

  /** For an answer with messages. Throws `ANSWERS_FULL` if not even one message is sure to have room. */
  answer(reply: FastifyReply): AnswerBytes {
    const client = clientOf(reply.request.raw.socket);
    const full = (details: Record<string, unknown>, whose: string) =>
      refused('ANSWERS_FULL', `Too many unread bytes of answers ${whose}`, details);
    // Tried here, since messages that are refused a place later were delivered in vain.
    take(this.#answerBytes, { client }, full, queueLimits.payloadBytesMax)();
    limitReadTime(reply, this.#readPace);
    return {
      take: (bytes) => {
        if (bytes > 0) admit(this.#answerBytes, { client }, reply, full, bytes);
      },
    };
  }

  /** Throws `UPLOADS_FULL`. */
  upload(queue: string, reply: FastifyReply): void {
    admit(this.#uploads, partiesOf(queue, reply), reply, (details, whose) => {
      return new QueueError('UPLOADS_FULL', { message: `Too many payload uploads ${whose}`, details });
    });
  }

  /** Throws `DOWNLOADS_FULL`. */
  download(queue: string, reply: FastifyReply): void {
    admit(this.#downloads, partiesOf(queue, reply), reply, (details, whose) =>
      refused('DOWNLOADS_FULL', `Too many concurrent payload downloads ${whose}`, details),
    );
    limitReadTime(reply, this.#readPace);
  }

  /**
   * Takes the bytes of a body that will be in memory as a whole: its declared length, or the route's maximum. Throws
   * `BODIES_FULL`, and `REQUEST_TOO_LARGE` for more than its route allows. The connection is closed then, because the body is not
   * read.
   */
  body(request: FastifyRequest, reply: FastifyReply): void {
    try {
      this.#admitBody(request, reply);
    } catch (error) {
      closeAfter(reply);
      throw error;
    }
  }

  #admitBody(request: FastifyRequest, reply: FastifyReply): void {
    const { config, bodyLimit = limits.bodyBytes } = request.routeOptions;
    if ((config as Partial<typeof streamedBody>).streamedBody) return;
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    const bytes = length === undefined ? (encoding === undefined ? 0 : bodyLimit) : Number(length);
    if (bytes > bodyLimit) throw new ServerError('REQUEST_TOO_LARGE', { details: { bytes, max: bodyLimit } });
    if (!(bytes > 0)) return;
    const client = clientOf(request.raw.socket);
    const full = (details: Record<string, unknown>, whose: string) =>
      refused('BODIES_FULL', `Too many bytes of request bodies ${whose}`, details);
    admit(this.#bodyBytes, { client }, reply, full, bytes);
  }
}

const partiesOf = (queue: string, { request }: FastifyReply) => ({
  queue,
  client: clientOf(request.raw.socket),
});

type ErrorOf<Kind extends Party> = (details: { max: number; share: FullShare<Kind> }, whose: string) => Error;

function admit<Kind extends Party>(
  shares: FairShares<Kind>,
  parties: Readonly<Record<Kind, string>>,
  reply: FastifyReply,
  errorOf: ErrorOf<Kind>,
  amount = 1,
): void {
  whenAnswered(reply, take(shares, parties, errorOf, amount));
}

/** Returns a function that gives the amount back. */
function take<Kind extends Party>(
  shares: FairShares<Kind>,
  parties: Readonly<Record<Kind, string>>,
  errorOf: ErrorOf<Kind>,
  amount: number,
): () => void {
  const taken = shares.take(parties, amount);
  if (typeof taken !== 'function') throw errorOf({ max: shares.max, share: taken }, inWords[taken]);
  return taken;
}

function refused(code: ServerErrorCode, message: string, details: Record<string, unknown>): ServerError {
  return new ServerError(code, { message, details });
}
