/**
 * Records a client's operations: the attempt before the call, the outcome after it. Lines go where they outlive the process,
 * a file or a pipe, by one system call before anything else happens, so that a kill can cut off only the last one.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { Operation, Outcome } from './operation.ts';

/** Nanoseconds of the machine's monotonic clock. Exact for 104 days after its start. */
export function monotonicNs(): number {
  return Number(process.hrtime.bigint());
}

export interface RecorderOptions {
  /** Name of the process: unique in the history. */
  process: string;
  /** Gets a line with its line feed. */
  write(line: string): void;
  now?: () => number;
}

type Given = 'id' | 'process' | 'start' | 'end' | 'outcome';
type WithoutGiven<T> = T extends Operation ? Omit<T, Given> : never;
/** The fields of an operation that its caller knows at the attempt. */
export type Attempt = WithoutGiven<Operation>;
export type AttemptOf<Type extends Operation['type']> = Extract<Attempt, { type: Type }>;

export interface OpenOperation<Fields = object> {
  readonly id: string;
  /** Ends the operation; `fields` are added to those of the attempt. */
  end(outcome: Outcome, fields?: Fields): void;
}

export class Recorder {
  readonly process: string;
  readonly now: () => number;
  readonly #write: (line: string) => void;
  #count = 0;

  constructor({ process, write, now = monotonicNs }: RecorderOptions) {
    this.process = process;
    this.now = now;
    this.#write = write;
  }

  /** Writes the attempt. */
  begin(attempt: Attempt): OpenOperation<Partial<Attempt>> {
    this.#count += 1;
    const id = `${this.process}.${this.#count}`;
    this.#line({ id, process: this.process, start: this.now(), ...attempt });
    return {
      id,
      end: (outcome, fields) => this.#line({ id, end: this.now(), outcome, ...fields }),
    };
  }

  /** Writes an operation that took no time. */
  note(attempt: Attempt): void {
    const now = this.now();
    this.#count += 1;
    const id = `${this.process}.${this.#count}`;
    this.#line({ id, process: this.process, start: now, end: now, outcome: 'ok', ...attempt });
  }

  #line(parts: object): void {
    this.#write(`${JSON.stringify(parts)}\n`);
  }
}

/** Writes all of the text to a file descriptor at once. */
export function writeAllSync(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
}

/** Appends to a file that several processes may append to. */
export function openHistoryFile(path: string): { write(line: string): void; close(): void } {
  const descriptor = openSync(path, 'a');
  return {
    write: (line) => writeAllSync(descriptor, line),
    close: () => closeSync(descriptor),
  };
}
