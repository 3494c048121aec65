import { numberParam } from '@shardlab/contract';
import { sessionsAt } from './contention.ts';
import type { DataTable } from './data-table.ts';
import type { Moment } from './filmstrip.ts';
import { systemInWords } from './system-words.ts';

/** The sessions of each instance at the shown moments, a row for each. */
export function contentionTable(moments: readonly (Moment | null)[]): DataTable {
  return {
    columns: [
      'System',
      'Instance',
      'Threads',
      'Seconds',
      'Sessions',
      'On a core',
      'Wait for others',
      'Commit',
      'Configuration',
      'Network',
    ],
    rows: moments.flatMap((moment) => {
      if (moment === null) return [];
      const { tick } = moment;
      const now = sessionsAt(tick);
      return now.instances.map((each) => [
        systemInWords(tick.system),
        each.instance,
        numberParam(tick.params, 'threads'),
        tick.atMs / 1000,
        now.sessions / now.instances.length,
        each.cores,
        each.concurrency,
        each.commit,
        each.configuration,
        each.network,
      ]);
    }),
  };
}
