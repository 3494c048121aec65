/** `backup <folder> <into>`: copies the engine's folder, or that of a server, while it may be in use. */
import { backupFolder, QueueError } from '@shardlab/engine';
import { exitCodes } from '../errors/exit-codes.ts';
import { assertHasQueues, clusterFolder, fromCaller } from './folders.ts';

export function backupCommand(folder: string, into: string): number {
  try {
    const dir = clusterFolder(folder);
    assertHasQueues(dir);
    const { instances } = backupFolder(dir, fromCaller(into));
    const count = instances.length === 1 ? '1 instance' : `${instances.length} instances`;
    process.stdout.write(`${count} of ${dir} copied to ${into}\n`);
    return exitCodes.done;
  } catch (error) {
    if (!(error instanceof QueueError)) throw error;
    process.stderr.write(`${error.code}: ${error.message}\n`);
    return exitCodes.failed;
  }
}
