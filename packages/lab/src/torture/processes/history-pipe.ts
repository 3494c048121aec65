/**
 * Lines that a process under test writes to its parent before it continues, so that they survive a kill: the operations of its
 * history, and the events of its life.
 */
import { Recorder, writeAllSync } from '@shardlab/history';

/** The file descriptor of the pipe to the parent. */
export const historyPipe = 3;

/** `opening`: it starts to open its instance. `working`: commits were acknowledged. */
export type Moment = { moment: 'opening' | 'working' } | { moment: 'failed'; text: string };

const isMoment = /^\{"moment":/;

export function writeMoment(moment: Moment): void {
  writeAllSync(historyPipe, `${JSON.stringify(moment)}\n`);
}

export function newRecorder(processName: string): Recorder {
  return new Recorder({ process: processName, write: (line) => writeAllSync(historyPipe, line) });
}

/** Undefined if the line is part of the history. */
export function parseMoment(line: string): Moment | undefined {
  return isMoment.test(line) ? (JSON.parse(line) as Moment) : undefined;
}
