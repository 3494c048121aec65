/**
 * Reads and writes runs as files in a thread of its own: the largest have megabytes, whose parsing, checking and formatting would take
 * up to seconds of the thread that serves the queues. That thread only moves their texts, a point at a time.
 */
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { MeasuredWorkload, Run } from '@shardlab/contract';
import { CodedError, QueueError, type QueueErrorCode } from '@shardlab/engine';
import { LabError, type LabErrorCode, type StudyRegistry } from '@shardlab/lab';
import { ServerError, type ServerErrorCode } from '../errors.ts';
import type { ReadRun } from '../store/run-store.ts';

/** A run to be written, whose texts are read when they are needed. */
export interface RunToWrite {
  /** Without its points. */
  head: Run;
  /** Called once for each time that the points are needed. */
  pointsJson(): Iterable<string> | AsyncIterable<string>;
  /** An array. */
  ticksJson(): Promise<string>;
  /** Told of a point that cannot be read, by its number from 1, with the rest of a sentence; it is left out. */
  onDamage(number: number, damage: string): void;
}

/** `stored`: JSON with the points as they are stored, and without ticks. */
export type RunFormat = 'json' | 'csv' | 'stored';

/** What the thread is asked to do. Over the port of the job it asks for texts (`Ask`) and answers (`Told`). */
export type Job =
  | { kind: 'read'; body: Uint8Array; contentType: string }
  | { kind: 'write'; format: RunFormat; head: Run }
  | { kind: 'measured'; heads: readonly (Run & { endedAtMs: number })[] };

/** `points`: the next ones of a pass, which are counted from 0; none after the last. */
export type Ask = { ask: 'points'; pass: number } | { ask: 'ticks' };
export type Told =
  | { told: unknown }
  | { damagedPoint: { pass: number; number: number; damage: string } }
  | { ended: true }
  | { failed: PlainError };

/** An error as it passes between threads, which keep neither its class nor its fields. */
export interface PlainError {
  name: string;
  code: string;
  message: string;
  details: Readonly<Record<string, unknown>>;
}

export const toPlainError = (error: unknown): PlainError =>
  error instanceof CodedError
    ? { name: error.name, code: error.code, message: error.message, details: error.details }
    : {
        name: 'LabError',
        code: 'WORKER_FAILED',
        message: `A run could not be read: ${String(error)}`,
        details: {},
      };

function fromPlainError({ name, code, message, details }: PlainError): Error {
  if (name === 'ServerError') return new ServerError(code as ServerErrorCode, { message, details });
  if (name === 'QueueError') return new QueueError(code as QueueErrorCode, { message, details });
  return new LabError(code as LabErrorCode, { message, details });
}

/** Heap of the thread, MiB: a file of 16 MiB with all the values that it may have takes some 300. */
const heapMiBMax = 768;

export class RunFiles {
  readonly #studies: StudyRegistry;
  #thread: Worker | undefined;
  readonly #ports = new Set<MessagePort>();

  /** The thread starts with the first job. */
  constructor({ studies }: { studies: StudyRegistry }) {
    this.#studies = studies;
  }

  /**
   * Reads a run that was exported as JSON. `body` is given away. Rejects with `REQUEST_INVALID`, `CONTENT_TYPE_UNSUPPORTED`,
   * `SCENARIO_INVALID`, `SCENARIO_TOO_LARGE`, `RUN_INVALID`, and `RUN_ACTIVE` if it had not ended.
   */
  async read(body: Uint8Array, contentType: string): Promise<ReadRun> {
    // A small body shares its memory with others.
    const bytes = body.byteLength === body.buffer.byteLength ? body : new Uint8Array(body);
    const job: Job = { kind: 'read', body: bytes, contentType };
    return (await this.#only(job, {}, [bytes.buffer as ArrayBuffer])) as ReadRun;
  }

  /** The text of a run, in pieces. */
  write(format: RunFormat, run: RunToWrite): AsyncGenerator<string> {
    const { head, onDamage, ...texts } = run;
    const told = {
      ...texts,
      onDamage: (_pass: number, number: number, damage: string) => onDamage(number, damage),
    };
    return this.#answers({ kind: 'write', format, head }, told) as AsyncGenerator<string>;
  }

  /** The newest measurement of each workload in these runs, given with the newest first. */
  async measured(
    runs: readonly ({ head: Run & { endedAtMs: number } } & Pick<RunToWrite, 'pointsJson' | 'onDamage'>)[],
  ): Promise<MeasuredWorkload[]> {
    const heads = runs.map(({ head }) => head);
    const pointsJson = (pass: number) => runs[pass]!.pointsJson();
    const onDamage = (pass: number, number: number, damage: string) => runs[pass]!.onDamage(number, damage);
    return (await this.#only({ kind: 'measured', heads }, { pointsJson, onDamage })) as MeasuredWorkload[];
  }

  async close(): Promise<void> {
    for (const port of this.#ports) port.close();
    await this.#thread?.terminate();
  }

  async #only(job: Job, texts: Partial<Texts>, transfer: ArrayBuffer[] = []): Promise<unknown> {
    for await (const answer of this.#answers(job, texts, transfer)) return answer;
    throw closed();
  }

  async *#answers(job: Job, texts: Partial<Texts>, transfer: ArrayBuffer[] = []): AsyncGenerator<unknown> {
    const { port1: port, port2 } = new MessageChannel();
    this.#ports.add(port);
    const { pointsJson = () => [], ticksJson = async () => '[]' } = texts;
    const passes = new Map<number, AsyncIterator<string>>();
    const pass = (number: number) => {
      let iterator = passes.get(number);
      if (iterator === undefined) {
        iterator = inOrder(pointsJson(number));
        passes.set(number, iterator);
      }
      return iterator;
    };
    const told = repliesOf(port);
    try {
      this.#open().postMessage({ job, port: port2 }, [port2, ...transfer]);
      for (;;) {
        const reply = await told();
        if (reply === undefined) throw closed();
        if ('failed' in reply) throw fromPlainError(reply.failed);
        if ('ended' in reply) return;
        if ('told' in reply) {
          yield reply.told;
          port.postMessage('more');
        } else if ('damagedPoint' in reply) {
          const { pass: ofPass, number, damage } = reply.damagedPoint;
          texts.onDamage?.(ofPass, number, damage);
        } else if (reply.ask === 'ticks') port.postMessage(await ticksJson());
        else port.postMessage(await nextOf(pass(reply.pass)));
      }
    } finally {
      this.#ports.delete(port);
      port.close();
      for (const iterator of passes.values()) await iterator.return?.();
    }
  }

  #open(): Worker {
    if (this.#thread !== undefined) return this.#thread;
    const { folders } = this.#studies;
    if (folders === null) throw new RangeError('a thread can only load studies from folders');
    // `.ts` in the repository, `.js` where it is compiled.
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
    const thread = new Worker(new URL(`./run-files-thread${extension}`, import.meta.url), {
      name: 'run files',
      workerData: { studyFolders: folders.map(({ href }) => href) },
      resourceLimits: { maxOldGenerationSizeMb: heapMiBMax },
    });
    thread.unref();
    thread.on('error', () => undefined); // its jobs fail when it has ended
    thread.on('exit', () => {
      this.#thread = undefined;
      for (const port of this.#ports) port.close();
    });
    this.#thread = thread;
    return thread;
  }
}

interface Texts {
  onDamage(pass: number, number: number, damage: string): void;
  pointsJson(pass: number): Iterable<string> | AsyncIterable<string>;
  ticksJson(): Promise<string>;
}

/**
 * Characters of a message between the threads. Both wait for each other's turn, so that single points would take long on a busy
 * machine; as many are read in one turn of the event loop, which takes about a millisecond.
 */
export const unitsPerMessage = 256 * 1024;

async function nextOf(points: AsyncIterator<string>): Promise<string[]> {
  const found: string[] = [];
  for (let units = 0; units < unitsPerMessage; ) {
    const { done = false, value } = await points.next();
    if (done) break;
    found.push(value);
    units += value.length;
  }
  return found;
}

async function* inOrder(texts: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
  yield* texts;
}

/** Returns a function for the next message of the port; undefined once it is closed. One call at a time. */
function repliesOf(port: MessagePort): () => Promise<Ask | Told | undefined> {
  const waiting: (Ask | Told)[] = [];
  let isClosed = false;
  let wake = () => {};
  port.on('message', (message: Ask | Told) => {
    waiting.push(message);
    wake();
  });
  port.on('close', () => {
    isClosed = true;
    wake();
  });
  return async () => {
    while (waiting.length === 0 && !isClosed) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return waiting.shift();
  };
}

const closed = () =>
  new LabError('WORKER_FAILED', { message: 'The thread that reads and writes runs has ended' });
