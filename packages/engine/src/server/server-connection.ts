/**
 * The server's end of one client's connection: dispatches requests to its sessions and sends the answers. An invalid frame
 * ends this connection and nothing else. While the client does not read its answers, the server reads no more requests from
 * it, which bounds the memory on both sides.
 */

import type { Socket } from 'node:net';
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { Message } from '../api/message.ts';
import type { RemoteSessionNumber, RequestNumber } from '../model/ids.ts';
import { inBackground } from '../model/invariant.ts';
import type { InstancePorts } from '../model/ports.ts';
import type { LazyCommitResult } from '../model/session-calls.ts';
import { sessionIdBytes } from '../model/session-outcome.ts';
import type { LocalInstance } from '../runtime/local-instance.ts';
import { BodyReader } from '../wire/body-reader.ts';
import { FrameReader } from '../wire/frame-reader.ts';
import { FrameWriter } from '../wire/frame-writer.ts';
import {
  errorToJson,
  protocolError,
  protocolMagic,
  protocolVersion,
  replies,
  requests,
  returnFromText,
} from '../wire/protocol.ts';
import { answerAdminCall } from './admin-calls.ts';
import { answerResourceCall } from './answer-resource-call.ts';
import { ConnectionSessions } from './connection-sessions.ts';
import { PeerRequestHandler } from './peer-request-handler.ts';
import { readTexts } from './read-operations.ts';
import { sendCommitResult, sendCommitted } from './send-commit-result.ts';
import { ofPush, sendDeliveries } from './send-deliveries.ts';
import type { ServerSession } from './server-session.ts';
import { orWaitRefused } from './session-consumers.ts';

/** How long a client may take to read the last answers of a connection that ends. */
const lastAnswerReadMsMax = 1_000;

/** How long a client may take to send its greeting. */
const greetingMsMax = 5_000;

export class ServerConnection {
  readonly #socket: Socket;
  readonly #instance: LocalInstance;
  readonly #writer: FrameWriter;
  readonly #ports: InstancePorts;
  readonly #refusal: QueueError | undefined;
  readonly #sessions: ConnectionSessions;
  #lastCall: Promise<unknown> = Promise.resolve();
  #lastChunk: Promise<unknown> = Promise.resolve();
  #greeted = false;
  /** Set if the client is another instance. */
  #peerRequests: PeerRequestHandler | undefined;
  #unanswered = 0;
  #paused = false;
  /** The writer is full, and `#throttle` runs again once it has drained. */
  #awaitsDrain = false;
  #ended: Promise<void> | undefined;

  /** `refusal`: why the greeting is not answered. */
  constructor(socket: Socket, instance: LocalInstance, ports: InstancePorts, refusal?: QueueError) {
    this.#socket = socket;
    this.#instance = instance;
    this.#ports = ports;
    this.#refusal = refusal;
    this.#sessions = new ConnectionSessions(instance, ports);
    this.#writer = new FrameWriter(socket, ports.timers);
    const frames = new FrameReader((source, start, end) => this.#onFrame(source, start, end));
    socket.on('data', (chunk: Buffer) => {
      if (this.#ended !== undefined) return;
      try {
        frames.push(chunk);
      } catch (error) {
        this.#failConnection(error);
      }
      this.#throttle();
    });
    const greetingTimeout = ports.timers.after(greetingMsMax, () => {
      if (!this.#greeted) socket.destroy();
    });
    socket.on('error', () => undefined); // 'close' follows
    socket.on('close', () => {
      greetingTimeout.cancel();
      inBackground(this.end());
    });
  }

  /** Finishes and answers the commits under way, rolls back the sessions, then ends the connection. */
  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    this.#peerRequests?.end();
    await this.#sessions.detachAll();
    this.#writer.close();
    this.#socket.destroySoon();
    // A client may never read the last answers.
    const timer = this.#ports.timers.after(lastAnswerReadMsMax, () => this.#socket.destroy());
    this.#socket.once('close', () => timer.cancel());
  }

  /** Tells the client the reason, if it still reads, and ends the connection. */
  #failConnection(error: unknown): void {
    this.#sendFailure(0, error);
    inBackground(this.end());
  }

  #onFrame(source: Buffer, start: number, end: number): void {
    if (this.#ended !== undefined) return;
    const kind = source[start]!;
    const request = source.readUInt32LE(start + 1);
    const body = new BodyReader(source, start + 5, end);
    if (!this.#greeted) this.#greet(kind, request, body);
    else if (kind === requests.commit) this.#commit(request, body);
    else if (isDeliveryRequest(kind)) this.#deliver(kind, request, body);
    else this.#onOtherRequest(kind, request, body);
  }

  #greet(kind: number, request: RequestNumber, body: BodyReader): void {
    if (kind !== requests.hello || body.u32() !== protocolMagic) {
      throw protocolError('The first frame of a connection must be a greeting');
    }
    const version = body.u16();
    if (version !== protocolVersion) {
      throw new QueueError('PROTOCOL_VERSION', {
        message: `The client speaks protocol version ${version}, the instance version ${protocolVersion}; run the same release on both sides`,
        details: { client: version, instance: protocolVersion },
      });
    }
    if (this.#refusal !== undefined) throw this.#refusal;
    this.#greeted = true;
    this.#writer.beginFrame(replies.welcome, request);
    this.#writer.u32(this.#instance.id);
    this.#writer.endFrame();
  }

  #commit(request: RequestNumber, body: BodyReader): void {
    const session = this.#findSession(body.u32(), request);
    if (session !== undefined) this.#answerCommit(request, session.commit(body.f64(), body), session);
  }

  /** `session`: the session to notify when the commit has ended; undefined if it need not know. */
  #answerCommit(request: RequestNumber, commit: Promise<LazyCommitResult>, session?: ServerSession): void {
    const onEnded = session && (() => session.onCommitEnded(commit));
    this.#answerWith(request, commit, (result) => sendCommitResult(this.#writer, request, result), onEnded);
  }

  #deliver(kind: number, request: RequestNumber, body: BodyReader): void {
    const session = this.#findSession(body.u32(), request);
    if (session === undefined) return;
    const max = body.u32();
    const waitMs = body.u32();
    const holdMs = body.u32();
    const bytesMax = body.u32();
    const queue = body.text();
    const mayWait = this.#mayWait;
    const options = {
      max,
      waitMs: mayWait ? waitMs : 0,
      ...(body.bytesLeft > 0 && { subscriber: body.text() }),
    };
    body.assertEnd();
    let messages: Promise<Message[]>;
    if (kind === requests.dequeue) messages = session.dequeue(queue, options);
    else if (kind === requests.dequeueNow) messages = session.dequeueNow(queue, options);
    else messages = session.receive(queue, { ...options, holdMs, ...(bytesMax > 0 && { bytesMax }) });
    if (waitMs > 0 && !mayWait) messages = orWaitRefused(messages);
    this.#answerWith(request, messages, (delivered) => this.#sendDeliveries(request, delivered));
  }

  /**
   * Whether a request may wait for messages. If all that may be unanswered were waiting, the request that ends their wait would
   * never be read.
   */
  get #mayWait(): boolean {
    return this.#unanswered < limits.requestsPerConnectionMax;
  }

  /** The request counts as unanswered until the client has read enough for the last frame to be written. */
  #sendDeliveries(request: RequestNumber, messages: readonly Message[]): void {
    const sending = sendDeliveries(this.#writer, request, messages);
    if (sending !== undefined) this.#answerWith(request, sending, () => undefined);
  }

  #onOtherRequest(kind: number, request: RequestNumber, body: BodyReader): void {
    if (kind === requests.adminCall) {
      this.#adminCall(request, body.remainingText());
      return;
    }
    if (kind === requests.forwardBatch || kind === requests.peerCall) {
      this.#peerRequests ??= new PeerRequestHandler({
        forwarding: this.#instance.forwarding,
        home: this.#instance.openHomeCaller(),
        branches: this.#instance.xa,
        clock: this.#ports.machineClock,
      });
      const work =
        kind === requests.forwardBatch
          ? this.#peerRequests.acceptBatch(body)
          : this.#peerRequests.call(body.remainingText());
      this.#answerWith(request, work, (result) => this.#sendResult(request, JSON.stringify(result)));
      return;
    }
    if (kind === requests.resourceCall) {
      const answer = answerResourceCall(this.#instance.xa, body.remainingText());
      this.#answerWith(request, answer, (result) => this.#sendResult(request, result));
      return;
    }
    if (kind === requests.readChunk) {
      this.#readChunk(request, body);
      return;
    }
    const sessionNumber = body.u32();
    if (kind === requests.openSession) this.#openSession(sessionNumber, body);
    else if (kind === requests.cancelPull) {
      this.#sessions.findOpen(sessionNumber)?.consumers.cancelPull(body.u32());
    } else if (kind === requests.cancelWait) this.#sessions.findOpen(sessionNumber)?.stopWait();
    else if (kind === requests.cancelUpload) {
      this.#sessions.findOpen(sessionNumber)?.uploads.cancel(body.u32());
    } else if (kind === requests.closeSession) {
      this.#answerWith(request, this.#sessions.close(sessionNumber), () => this.#sendDone(request));
    } else {
      const session = this.#findSession(sessionNumber, request);
      if (session !== undefined) this.#onSessionRequest(session, kind, request, body);
    }
  }

  #onSessionRequest(session: ServerSession, kind: number, request: RequestNumber, body: BodyReader): void {
    const done = () => this.#sendDone(request);
    if (kind === requests.enqueueNow) this.#answerCommit(request, session.enqueueNow(body));
    else if (kind === requests.rollback)
      this.#answerWith(request, session.rollback(returnFromText(body.text())), done);
    else if (kind === requests.branchCall) this.#answerWith(request, session.branchCall(body), done);
    else if (kind === requests.release) {
      const how = returnFromText(body.text());
      this.#answerWith(request, session.release(body.text(), readTexts(body), how), done);
    } else if (kind === requests.extend) {
      const holdMs = body.u32();
      this.#answerWith(request, session.extend(body.text(), readTexts(body), holdMs), done);
    } else if (
      kind === requests.beginUpload ||
      kind === requests.uploadPart ||
      kind === requests.finishUpload
    ) {
      this.#answerWith(request, session.uploads.handleRequest(kind, body), done);
    } else if (kind === requests.openConsumer) {
      this.#answerWith(request, this.#openConsumer(session, request, body), done);
    } else if (isConsumerRequest(kind)) {
      this.#answerConsumer(request, session.consumers.handleRequest(kind, body, this.#mayWait));
    } else if (kind === requests.send) {
      this.#answerWith(request, session.sends.handleRequest(request, body), () => {
        if (request !== 0) this.#sendDone(request);
      });
    } else if (kind === requests.messageOfReceipt) {
      const message = session.messageOfReceipt(body.text(), body.text());
      this.#answerWith(request, message, (found) => this.#sendDeliveries(request, [found]));
    } else if (kind === requests.commitOutcome) {
      this.#answerWith(request, session.outcome(body.f64()), (committed) => {
        if (committed !== undefined) {
          sendCommitted(this.#writer, request, committed.idRuns);
          return;
        }
        this.#writer.beginFrame(replies.notCommitted, request);
        this.#writer.endFrame();
      });
    } else throw protocolError(`Unknown request ${kind}`);
  }

  /** `request` is the number of the consumer, under which its messages are pushed. */
  async #openConsumer(session: ServerSession, request: RequestNumber, body: BodyReader): Promise<void> {
    session.consumers.announce(request);
    if (session.previousEnded !== undefined) await session.previousEnded;
    session.consumers.open(request, body, {
      push: (messages) => sendDeliveries(this.#writer, request, messages, ofPush),
      fail: (error) => this.#onFailure(request, error),
    });
  }

  /** Without a request number there is no answer: the consumer itself has ended if the request failed. */
  #answerConsumer(request: RequestNumber, work: Promise<Message[] | undefined>): void {
    if (request === 0) {
      work.catch((error: unknown) => {
        if (isProtocolError(error)) this.#failConnection(error);
      });
      return;
    }
    this.#answerWith(request, work, (messages) => {
      if (messages === undefined) this.#sendDone(request);
      else this.#sendDeliveries(request, messages);
    });
  }

  /** Reads one chunk at a time, however many the client requests, and only as fast as the client reads the answers. */
  #readChunk(request: RequestNumber, body: BodyReader): void {
    const key = { payloadId: body.f64(), chunkIndex: body.u32() };
    body.assertEnd();
    const chunk = this.#lastChunk.then(async () => {
      while (this.#writer.full) await this.#writer.drained();
      return this.#instance.readChunk(key);
    });
    this.#lastChunk = chunk.catch(() => undefined);
    this.#answerWith(request, chunk, ({ buffer, byteOffset, byteLength }) => {
      this.#writer.beginFrame(replies.payloadChunk, request);
      this.#writer.bytes(Buffer.from(buffer, byteOffset, byteLength), 0, byteLength);
      this.#writer.endFrame();
    });
  }

  /** Runs one call at a time, because an answer may be as large as a frame. */
  #adminCall(request: RequestNumber, json: string): void {
    const answer = this.#lastCall.then(async () => {
      while (this.#writer.full) await this.#writer.drained();
      return answerAdminCall(this.#instance, json);
    });
    this.#lastCall = answer.catch(() => undefined);
    this.#answerWith(request, answer, (result) => this.#sendResult(request, result));
  }

  #sendDone(request: RequestNumber): void {
    this.#writer.beginFrame(replies.done, request);
    this.#writer.endFrame();
  }

  #sendResult(request: RequestNumber, json: string): void {
    this.#writer.beginFrame(replies.jsonResult, request);
    this.#writer.remainingText(json);
    this.#writer.endFrame();
  }

  #openSession(sessionNumber: RemoteSessionNumber, body: BodyReader): void {
    const attachment = body.u32();
    const start = body.skip(sessionIdBytes);
    const session = Buffer.from(body.source.subarray(start, start + sessionIdBytes));
    this.#sessions.open(sessionNumber, { session, attachment });
  }

  /** Answers the request with the error if there is no such session, or if it was refused. */
  #findSession(sessionNumber: RemoteSessionNumber, request: RequestNumber): ServerSession | undefined {
    try {
      return this.#sessions.find(sessionNumber);
    } catch (error) {
      if (isProtocolError(error)) throw error;
      if (request !== 0) this.#sendFailure(request, error);
      else if (this.#sessions.isRefused(sessionNumber))
        throw protocolError('A session sends one way before it has had an answer');
      return undefined; // what a client sent one way before it closed the session has no effect
    }
  }

  /** Calls `write` with the result of `work`, or answers with its error; `onEnded` before either. */
  #answerWith<T>(
    request: RequestNumber,
    work: Promise<T>,
    write: (value: T) => void,
    onEnded?: () => void,
  ): void {
    this.#unanswered += 1;
    work.then(
      (value) => {
        onEnded?.();
        write(value);
        this.#onAnswered();
      },
      (error: unknown) => {
        onEnded?.();
        this.#onFailure(request, error);
        this.#onAnswered();
      },
    );
  }

  #onAnswered(): void {
    this.#unanswered -= 1;
    if (this.#paused) this.#throttle();
  }

  #onFailure(request: RequestNumber, error: unknown): void {
    // Only the recovered file shows whether a commit under way was durable. It gets no answer, so the client asks after the
    // recovery.
    if (this.#instance.failed) this.#socket.destroy();
    else if (isProtocolError(error)) this.#failConnection(error);
    else this.#sendFailure(request, error);
  }

  #sendFailure(request: RequestNumber, error: unknown): void {
    this.#writer.beginFrame(replies.failed, request);
    this.#writer.remainingText(errorToJson(error));
    this.#writer.endFrame();
  }

  /** Stops reading requests while the client does not read its answers, or has too many outstanding. */
  #throttle(): void {
    const { full } = this.#writer;
    const mustPause = full || this.#unanswered > limits.requestsPerConnectionMax;
    if (mustPause !== this.#paused) {
      this.#paused = mustPause;
      if (mustPause) this.#socket.pause();
      else this.#socket.resume();
    }
    if (full && !this.#awaitsDrain) void this.#throttleWhenDrained();
  }

  async #throttleWhenDrained(): Promise<void> {
    this.#awaitsDrain = true;
    await this.#writer.drained();
    this.#awaitsDrain = false;
    this.#throttle(); // earlier waiters may have filled the writer again: then it waits again
  }
}

function isDeliveryRequest(kind: number): boolean {
  return kind === requests.dequeue || kind === requests.receive || kind === requests.dequeueNow;
}

function isConsumerRequest(kind: number): boolean {
  if (kind === requests.returnUnseen) return true;
  return kind >= requests.consumerFlow && kind <= requests.closeConsumer && kind !== requests.cancelPull;
}

function isProtocolError(error: unknown): boolean {
  return error instanceof QueueError && error.code.startsWith('PROTOCOL_');
}
