import {
  checkFolder,
  type DamagedPartition,
  type FolderCheck,
  QueueError,
  repairFolder,
} from '@shardlab/engine';
import { exitCodes } from '../errors/exit-codes.ts';
import { assertHasQueues, clusterFolder, writeJson } from './folders.ts';

/** `check <folder>`: verifies the engine's folder, or that of a server; with `acceptLoss` it then repairs it and verifies it again. */
export async function checkCommand(
  folder: string,
  options: { json?: string | undefined; acceptLoss: boolean },
): Promise<number> {
  try {
    const dir = clusterFolder(folder);
    assertHasQueues(dir);
    let check = checkFolder(dir);
    printCheck(check);
    if (options.acceptLoss && check.faults.length > 0) {
      const { replaced, accepted } = repairFolder(dir);
      for (const fault of accepted) process.stdout.write(`accepted: ${fault}\n`);
      for (const { instance, partitions } of replaced) {
        for (const partition of partitions) process.stdout.write(`${replacedInWords(instance, partition)}\n`);
      }
      check = checkFolder(dir);
      printCheck(check);
    }
    if (options.json !== undefined) await writeJson(options.json, check);
    return check.faults.length === 0 ? exitCodes.done : exitCodes.failed;
  } catch (error) {
    if (!(error instanceof QueueError)) throw error;
    process.stderr.write(`${error.code}: ${error.message}\n`);
    return exitCodes.failed;
  }
}

function printCheck({ dir, instances, faults }: FolderCheck): void {
  const lines = instances.map(
    ({ path, partitions, unconsumedMessages, damagedPartitions }) =>
      `${path}: ${partitions} partitions, ${damagedPartitions.length} damaged; ${unconsumedMessages} unconsumed messages in undamaged partitions`,
  );
  const verdict = faults.length === 0 ? `${dir} is intact` : `${dir} is DAMAGED:`;
  process.stdout.write(`${[...lines, verdict, ...faults.map((fault) => `  ${fault}`)].join('\n')}\n`);
}

function replacedInWords(
  instance: number,
  { partition, shard, readableMessages, missingRanges }: DamagedPartition,
): string {
  const lost = missingRanges.reduce((sum, [start, end]) => sum + end - start, 0);
  const ranges = missingRanges.map(([start, end]) => `${shard}.${start} to ${shard}.${end - 1}`).join(', ');
  const gone = lost === 0 ? 'none is known to be lost' : `${lost} are lost: ${ranges}`;
  return `Instance ${instance}, partition ${partition}: ${readableMessages} messages were saved, ${gone}`;
}
