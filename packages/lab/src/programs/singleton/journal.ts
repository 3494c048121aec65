/** The journal that the services of a trial wrote, and conclusions from it. Times are epoch milliseconds of one machine. */

export interface JournalLine {
  what: 'active' | 'inactive' | 'wrote' | 'refused';
  service: string;
  epoch: number;
  /** Number of a write. */
  number: number;
  atMs: number;
}

/** One activation, from its beginning to the last that is known of it. */
export interface Activation {
  service: string;
  epoch: number;
  fromMs: number;
  toMs: number;
}

export function parseJournal(text: string): JournalLine[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [what, service, epoch, number, atMs] = line.split(' ') as [
        string,
        string,
        string,
        string,
        string,
      ];
      return {
        what: what as JournalLine['what'],
        service,
        epoch: Number(epoch),
        number: Number(number),
        atMs: Number(atMs),
      };
    });
}

/** Returns the activations in the order of their starts. A refused write does not count as activity. */
export function activationsOf(lines: readonly JournalLine[]): Activation[] {
  const byActivation = Map.groupBy(lines, ({ service, epoch }) => `${service} ${epoch}`);
  return [...byActivation.values()]
    .flatMap((all) => {
      const begin = all.find(({ what }) => what === 'active');
      if (begin === undefined) return [];
      const signs = all.filter(({ what }) => what !== 'refused').map(({ atMs }) => atMs);
      return [{ service: begin.service, epoch: begin.epoch, fromMs: begin.atMs, toMs: Math.max(...signs) }];
    })
    .sort((a, b) => a.fromMs - b.fromMs);
}

/** Time in which two activations were under way, milliseconds: pairs are counted each. */
export function activeAtOnceMs(activations: readonly Activation[]): number {
  let ms = 0;
  for (const [index, one] of activations.entries()) {
    for (const other of activations.slice(index + 1))
      ms += Math.max(0, Math.min(one.toMs, other.toMs) - Math.max(one.fromMs, other.fromMs));
  }
  return ms;
}

/** Writes whose number another acknowledged write of the same service has too. */
export function writtenTwice(lines: readonly JournalLine[]): number {
  const writes = lines.filter(({ what }) => what === 'wrote');
  return writes.length - new Set(writes.map(({ service, number }) => `${service} ${number}`)).size;
}

export const refusedWrites = (lines: readonly JournalLine[]): number =>
  lines.filter(({ what }) => what === 'refused').length;
