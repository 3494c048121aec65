/** The history of one data folder, from its first process on, and what the checker finds in it. */
import {
  checkHistory,
  type DeliveredMessage,
  describeVerdict,
  mergeLines,
  monotonicNs,
  Recorder,
  type Verdict,
} from '@shardlab/history';
import type { TortureProcess } from './torture-process.ts';

/** The content that an inspection found in one queue, or for one subscriber of a topic. */
export interface Content {
  queue: string;
  subscriber?: string;
  messages: DeliveredMessage[];
}

/** Acknowledged work since the last inspection, and what was wrong. */
export interface TortureTotals {
  commits: number;
  enqueued: number;
  consumed: number;
  /** The checker's findings, as text. */
  violations: string[];
  /** Processes that failed or hung. */
  failed: string[];
}

/** Totals that contain only a failure, for errors outside a history. */
export function totalsOfFailure(text: string): TortureTotals {
  return { commits: 0, enqueued: 0, consumed: 0, violations: [], failed: [text] };
}

export class FolderHistory {
  readonly #lines: string[] = [];
  readonly #parent = new Recorder({ process: 'parent', write: (line) => this.#lines.push(line.trimEnd()) });
  #failed: string[] = [];
  #before: Pick<Verdict, 'transactions' | 'enqueued' | 'consumed'> | undefined;

  recordFailure(text: string): void {
    this.#failed.push(text);
  }

  /** Call it when the process has ended: its holds have ended with it. */
  addProcess(
    process: Pick<TortureProcess, 'historyLines' | 'endedAtNs' | 'failureText'>,
    name: string,
  ): void {
    this.#lines.push(...process.historyLines);
    if (process.failureText !== undefined) this.#failed.push(process.failureText);
    const end = process.endedAtNs ?? monotonicNs();
    // A process that kills itself does not say when, but not before its last line.
    const last = process.historyLines.at(-1);
    const { start: began = end, end: start = began }: { start?: number; end?: number } = JSON.parse(
      last ?? '{}',
    );
    const id = `parent.end.${name}`;
    this.#lines.push(
      JSON.stringify({ id, process: 'parent', type: 'kill', of: [name], start, end, outcome: 'ok' }),
    );
  }

  /** Records that from now on failovers may end holds at any time. */
  recordFaultsFromNow(): void {
    this.#parent.begin({ type: 'kill' });
  }

  /** `inspect` reads all contents of the folder, which no process uses. */
  async inspect(inspect: () => Promise<Content[]>): Promise<void> {
    const operation = this.#parent.begin({ type: 'inspection', contents: [] });
    operation.end('ok', { contents: await inspect() });
  }

  /** A payload that names no message was found. */
  recordUnreadable(queue: string, text: string): void {
    this.#parent.note({ type: 'unreadable', queue, text });
  }

  /** Judges all that happened so far. Returns what is new since the last call. */
  takeTotals(): TortureTotals {
    const verdict = checkHistory(mergeLines(this.#lines));
    const before = this.#before;
    this.#before = verdict;
    const failed = this.#failed;
    this.#failed = [];
    return {
      commits: verdict.transactions.ok - (before?.transactions.ok ?? 0),
      enqueued: verdict.enqueued - (before?.enqueued ?? 0),
      consumed: verdict.consumed - (before?.consumed ?? 0),
      violations: verdict.violations.length === 0 ? [] : [describeVerdict(verdict)],
      failed,
    };
  }

  /** The history, to be judged again by its command. */
  get text(): string {
    return this.#lines.map((line) => `${line}\n`).join('');
  }
}
