/** Checks whether the writes of stubborn writers are those of one writer at a time. */
import { readFileSync } from 'node:fs';

export interface WriterJournal {
  acknowledged: { epoch: number; number: number }[];
  /** By epoch, the code of the error with which its writer ended. */
  ended: Map<number, string>;
}

export function readWriterJournal(path: string): WriterJournal {
  const journal: WriterJournal = { acknowledged: [], ended: new Map() };
  for (const line of readFileSync(path, 'utf8').trim().split('\n')) {
    const [what, epoch, rest] = line.split(' ') as [string, string, string];
    if (what === 'acknowledged') journal.acknowledged.push({ epoch: Number(epoch), number: Number(rest) });
    else journal.ended.set(Number(epoch), rest);
  }
  return journal;
}

/**
 * Returns the faults that it finds, as sentences. `written` are the writes in the file, in the order of their sequence numbers. With one
 * writer at a time the numbers are 1, 2, 3, …, epochs never decrease, and no acknowledged write is missing.
 */
export function findWriterFaults(
  written: readonly { epoch: number; number: number }[],
  { acknowledged }: Pick<WriterJournal, 'acknowledged'>,
): string[] {
  const faults: string[] = [];
  for (const [index, { epoch, number }] of written.entries()) {
    if (number !== index + 1) faults.push(`write ${index + 1} of the file has the number ${number}`);
    const before = written[index - 1];
    if (before !== undefined && epoch < before.epoch)
      faults.push(`epoch ${epoch} wrote after epoch ${before.epoch}`);
  }
  const present = new Set(written.map(({ epoch, number }) => `${epoch} ${number}`));
  for (const { epoch, number } of acknowledged) {
    if (!present.has(`${epoch} ${number}`))
      faults.push(`write ${number} of epoch ${epoch} was acknowledged and is missing`);
  }
  return faults;
}
