import { writeFileSync } from 'node:fs';
import {
  checkFolder,
  type DamagedPartition,
  type FolderCheck,
  QueueError,
  repairFolder,
} from '@shardlab/engine';
import { exitCodes } from './exit-codes.ts';

/** `check <folder>`: looks, and with `acceptLoss` repairs and looks again. */
export function checkCommand(
  dir: string,
  options: { json?: string | undefined; acceptLoss: boolean },
): number {
  try {
    let check = checkFolder(dir);
    say(check);
    if (options.acceptLoss && check.faults.length > 0) {
      for (const { instance, partitions } of repairFolder(dir).replaced) {
        for (const partition of partitions) process.stdout.write(`${replacedInWords(instance, partition)}\n`);
      }
      check = checkFolder(dir);
      say(check);
    }
    if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(check, null, 2)}\n`);
    return check.faults.length === 0 ? exitCodes.done : exitCodes.failed;
  } catch (error) {
    if (!(error instanceof QueueError)) throw error;
    process.stderr.write(`${error.code}: ${error.message}\n`);
    return exitCodes.failed;
  }
}

function say({ dir, instances, faults }: FolderCheck): void {
  const lines = instances.map(
    ({ path, partitions, messages, damaged }) =>
      `${path}: ${partitions} partitions, ${messages} messages in whole ones, ${damaged.length} damaged`,
  );
  const verdict = faults.length === 0 ? `${dir} is whole` : `${dir} is NOT whole:`;
  process.stdout.write(`${[...lines, verdict, ...faults.map((fault) => `  ${fault}`)].join('\n')}\n`);
}

function replacedInWords(
  instance: number,
  { partition, shard, readable, missing }: DamagedPartition,
): string {
  const lost = missing.reduce((sum, [start, end]) => sum + end - start, 0);
  const ranges = missing.map(([start, end]) => `${shard}.${start} to ${shard}.${end - 1}`).join(', ');
  const gone = lost === 0 ? 'none that is known is missing' : `${lost} are lost: ${ranges}`;
  return `Instance ${instance}, partition ${partition}: ${readable} messages were saved, ${gone}`;
}
