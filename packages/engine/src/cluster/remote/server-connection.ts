/**
 * One client's connection at the process that serves an instance: its sessions, and the answers on their way back. A frame
 * that cannot be ends this connection and nothing else. While the client does not read its answers, nothing more is read
 * from it, so neither side grows.
 */
import type { Socket } from 'node:net';
import { QueueError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { InlineInstance } from '../../instance/inline-instance.ts';
import { idRunsBytes } from '../../storage/id-runs.ts';
import { sessionBytes } from '../../storage/session-outcome.ts';
import type { Message } from '../../types.ts';
import { PeerRequests } from '../interconnect/peer-requests.ts';
import { answerCall } from './admin-calls.ts';
import { BodyReader } from './body-reader.ts';
import { FrameReader } from './frame-reader.ts';
import { sendHandOuts } from './hand-outs.ts';
import { Outbox } from './outbox.ts';
import { errorToJson, protocolError, protocolMagic, protocolVersion, replies, requests } from './protocol.ts';
import { ServerSession } from './server-session.ts';
import { resultsToJson } from './sql-json.ts';
import { readTexts } from './staged-operations.ts';

/** How long a client may take to read the last answers of a connection that ends. */
const partingMs = 1_000;

/** How long a client may take to say who it is. */
const greetingMs = 5_000;

export class ServerConnection {
  readonly #socket: Socket;
  readonly #instance: InlineInstance;
  readonly #outbox: Outbox;
  readonly #sessions = new Map<number, ServerSession>();
  /** Sessions of the client that could not be opened: each of their calls tries again. */
  readonly #refused = new Map<number, { session: Buffer; attachment: number }>();
  #calls: Promise<unknown> = Promise.resolve();
  #chunks: Promise<unknown> = Promise.resolve();
  #greeted = false;
  /** Of another instance. */
  #peer: PeerRequests | undefined;
  #unanswered = 0;
  #paused = false;
  #ended: Promise<void> | undefined;

  constructor(socket: Socket, instance: InlineInstance) {
    this.#socket = socket;
    this.#instance = instance;
    this.#outbox = new Outbox(socket);
    const frames = new FrameReader((source, start, end) => this.#onFrame(source, start, end));
    socket.on('data', (chunk: Buffer) => {
      if (this.#ended !== undefined) return;
      try {
        frames.push(chunk);
      } catch (error) {
        this.#refuse(error);
      }
      this.#throttle();
    });
    const impatience = setTimeout(() => {
      if (!this.#greeted) socket.destroy();
    }, greetingMs).unref();
    socket.on('error', () => undefined); // 'close' follows
    socket.on('close', () => {
      clearTimeout(impatience);
      void this.end();
    });
  }

  /** Ends the connection: its sessions roll back, commits under way are finished and answered first. */
  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    this.#peer?.end();
    await Promise.allSettled([...this.#sessions.values()].map((session) => session.detach()));
    this.#outbox.close();
    this.#socket.destroySoon();
    setTimeout(() => this.#socket.destroy(), partingMs).unref(); // it may never read the last answers
  }

  /** Says why, if the client still listens, and ends the connection. */
  #refuse(error: unknown): void {
    this.#fail(0, error);
    void this.end();
  }

  #onFrame(source: Buffer, start: number, end: number): void {
    if (this.#ended !== undefined) return;
    const kind = source[start]!;
    const request = source.readUInt32LE(start + 1);
    const body = new BodyReader(source, start + 5, end);
    if (!this.#greeted) this.#greet(kind, request, body);
    else if (kind === requests.commit) this.#commit(request, body);
    else if (kind === requests.dequeue || kind === requests.receive) this.#handOut(kind, request, body);
    else this.#others(kind, request, body);
  }

  #greet(kind: number, request: number, body: BodyReader): void {
    if (kind !== requests.hello || body.u32() !== protocolMagic) {
      throw protocolError('A connection begins with a greeting');
    }
    const version = body.u16();
    if (version !== protocolVersion) {
      throw new QueueError('PROTOCOL_VERSION', { details: { client: version, instance: protocolVersion } });
    }
    this.#greeted = true;
    this.#outbox.begin(replies.welcome, request);
    this.#outbox.u32(this.#instance.id);
    this.#outbox.end();
  }

  #commit(request: number, body: BodyReader): void {
    const session = this.#session(body.u32(), request);
    if (session === undefined) return;
    this.#answer(request, session.commit(body.f64(), body), (committed) => {
      const { runs, results } = committed;
      this.#outbox.begin(results.length > 0 ? replies.committedWithResults : replies.committed, request);
      if (results.length > 0) this.#outbox.u32(idRunsBytes(runs));
      this.#outbox.idRuns(runs);
      if (results.length > 0) this.#outbox.rest(resultsToJson(results));
      this.#outbox.end();
    });
  }

  #handOut(kind: number, request: number, body: BodyReader): void {
    const session = this.#session(body.u32(), request);
    if (session === undefined) return;
    const max = body.u32();
    const waitMs = body.u32();
    const holdMs = body.u32();
    const queue = body.text();
    const options = { max, waitMs, ...(body.left > 0 && { subscriber: body.text() }) };
    body.assertEnd();
    const messages =
      kind === requests.dequeue
        ? session.dequeue(queue, options)
        : session.receive(queue, { ...options, holdMs });
    this.#answer(request, messages, (handedOut) => this.#sendHandOuts(request, handedOut));
  }

  /** A client that is slow to read is waited for, and its request counts as unanswered until then. */
  #sendHandOuts(request: number, messages: readonly Message[]): void {
    const sending = sendHandOuts(this.#outbox, request, messages);
    if (sending !== undefined) this.#answer(request, sending, () => undefined);
  }

  #others(kind: number, request: number, body: BodyReader): void {
    if (kind === requests.call) {
      this.#call(request, body.rest());
      return;
    }
    if (kind === requests.forward || kind === requests.peer) {
      this.#peer ??= new PeerRequests(this.#instance.forwarding);
      const work = kind === requests.forward ? this.#peer.forward(body) : this.#peer.call(body.rest());
      this.#answer(request, work, (result) => this.#result(request, JSON.stringify(result)));
      return;
    }
    if (kind === requests.readChunk) {
      this.#readChunk(request, body);
      return;
    }
    const no = body.u32();
    if (kind === requests.open) {
      this.#open(no, body);
      return;
    }
    if (kind === requests.stopWait) {
      this.#sessions.get(no)?.stopWait(); // one that could not be opened does not wait
      return;
    }
    if (kind === requests.abandon) {
      this.#sessions.get(no)?.uploads.abandon(body.u32()); // nor does it upload
      return;
    }
    const done = () => {
      this.#outbox.begin(replies.done, request);
      this.#outbox.end();
    };
    if (kind === requests.close && this.#refused.delete(no)) {
      done();
      return;
    }
    const session = this.#session(no, request);
    if (session === undefined) return;
    if (kind === requests.rollback) this.#answer(request, session.rollback(), done);
    else if (kind === requests.release) {
      this.#answer(request, session.release(body.text(), readTexts(body)), done);
    } else if (kind === requests.extend) {
      const holdMs = body.u32();
      this.#answer(request, session.extend(body.text(), readTexts(body), holdMs), done);
    } else if (kind === requests.close) {
      this.#sessions.delete(no);
      this.#answer(request, session.close(), done);
    } else if (kind === requests.upload || kind === requests.part || kind === requests.uploaded) {
      this.#answer(request, session.uploads.obey(kind, body), done);
    } else if (kind === requests.lookUp) {
      const message = session.lookUp(body.text(), body.text());
      this.#answer(request, message, (found) => this.#sendHandOuts(request, [found]));
    } else if (kind === requests.outcome) {
      this.#answer(request, session.outcome(body.f64()), (committed) => {
        this.#outbox.begin(committed === undefined ? replies.notCommitted : replies.committed, request);
        if (committed !== undefined) this.#outbox.idRuns(committed.runs);
        this.#outbox.end();
      });
    } else throw protocolError(`There is no request ${kind}`);
  }

  /** One chunk at a time, however many the client asks for: it reads at the pace at which it takes the answers. */
  #readChunk(request: number, body: BodyReader): void {
    const place = { payload: body.f64(), no: body.u32() };
    body.assertEnd();
    const chunk = this.#chunks.then(async () => {
      while (this.#outbox.full) await this.#outbox.drained();
      return this.#instance.readChunk(place);
    });
    this.#chunks = chunk.catch(() => undefined);
    this.#answer(request, chunk, ({ buffer, byteOffset, byteLength }) => {
      this.#outbox.begin(replies.chunk, request);
      this.#outbox.bytes(Buffer.from(buffer, byteOffset, byteLength), 0, byteLength);
      this.#outbox.end();
    });
  }

  /** One call at a time, since an answer may be as large as a frame. */
  #call(request: number, json: string): void {
    const answer = this.#calls.then(async () => {
      while (this.#outbox.full) await this.#outbox.drained();
      return answerCall(this.#instance, json);
    });
    this.#calls = answer.catch(() => undefined);
    this.#answer(request, answer, (result) => this.#result(request, result));
  }

  #result(request: number, json: string): void {
    this.#outbox.begin(replies.result, request);
    this.#outbox.rest(json);
    this.#outbox.end();
  }

  /** Is not answered: the client goes on at once, and hears of a refusal with the session's first call. */
  #open(no: number, body: BodyReader): void {
    const attachment = body.u32();
    const start = body.skip(sessionBytes);
    const session = Buffer.from(body.source.subarray(start, start + sessionBytes));
    if (this.#sessions.has(no) || this.#refused.has(no)) throw protocolError(`Session ${no} is open`);
    try {
      this.#sessions.set(no, new ServerSession(this.#instance, { session, attachment }));
    } catch {
      if (this.#refused.size >= limits.sessionsMax) throw protocolError('Too many sessions were refused');
      this.#refused.set(no, { session, attachment });
    }
  }

  #session(no: number, request: number): ServerSession | undefined {
    const session = this.#sessions.get(no);
    if (session !== undefined) return session;
    const refused = this.#refused.get(no);
    if (refused === undefined) throw protocolError(`Session ${no} is not open`);
    try {
      const opened = new ServerSession(this.#instance, refused);
      this.#refused.delete(no);
      this.#sessions.set(no, opened);
      return opened;
    } catch (error) {
      this.#fail(request, error);
      return undefined;
    }
  }

  /** Calls `write` with what `work` comes to, or answers that it failed. */
  #answer<T>(request: number, work: Promise<T>, write: (value: T) => void): void {
    this.#unanswered += 1;
    work.then(
      (value) => {
        write(value);
        this.#answered();
      },
      (error: unknown) => {
        this.#onFailure(request, error);
        this.#answered();
      },
    );
  }

  #answered(): void {
    this.#unanswered -= 1;
    if (this.#paused) this.#throttle();
  }

  #onFailure(request: number, error: unknown): void {
    // Whether a commit that was under way then is done, only the recovered file knows: the client asks there.
    if (this.#instance.failed) this.#socket.destroy();
    else if (error instanceof QueueError && error.code.startsWith('PROTOCOL_')) this.#refuse(error);
    else this.#fail(request, error);
  }

  #fail(request: number, error: unknown): void {
    this.#outbox.begin(replies.failed, request);
    this.#outbox.rest(errorToJson(error));
    this.#outbox.end();
  }

  #throttle(): void {
    const full = this.#outbox.full || this.#unanswered > limits.requestsMax;
    if (full && !this.#paused) {
      this.#paused = true;
      this.#socket.pause();
      void this.#outbox.drained().then(() => this.#throttle());
    } else if (!full && this.#paused) {
      this.#paused = false;
      this.#socket.resume();
    }
  }
}
