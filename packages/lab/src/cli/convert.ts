import {
  type Conversion,
  type ConversionStage,
  type ConvertOptions,
  cancelConversion,
  convertQueue,
  QueueError,
} from '@shardlab/engine';
import { exitCodes } from '../errors/exit-codes.ts';
import { plural } from '../programs/figures-in-words.ts';
import { clusterFolder, writeJson } from './folders.ts';

export interface ConvertFlags {
  shards?: string | undefined;
  'attempts-max'?: string | undefined;
  'retry-delay'?: string | undefined;
  priorities: boolean;
  'cache-mib'?: string | undefined;
  'drain-s'?: string | undefined;
  cancel: boolean;
  json?: string | undefined;
}

const stageInWords: Readonly<Record<ConversionStage, string>> = {
  'stop-enqueue': 'stop enqueue',
  drain: 'drain: wait until consumers have emptied the queue',
  'stop-dequeue': 'stop dequeue',
  'check-empty': 'check that the queue is empty',
  drop: 'drop the unsharded queue',
  'size-cache': 'size the message cache',
  create: 'create the sharded queue with the same name',
  start: 'start enqueue and dequeue',
  done: 'done',
};

/** `convert <folder> <queue>`: converts an unsharded queue to a sharded one, resumes that, or cancels it. */
export async function convertCommand(folder: string, queue: string, flags: ConvertFlags): Promise<number> {
  const dir = clusterFolder(folder);
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.once('SIGINT', interrupt);
  try {
    if (flags.cancel) {
      await cancelConversion({ dir, queue });
      process.stdout.write(`The conversion of ${queue} was cancelled; the queue can be used as before\n`);
      return exitCodes.done;
    }
    const conversion = await convertQueue({
      ...optionsOf(flags),
      dir,
      queue,
      signal: stop.signal,
      onStep: printConversion,
    });
    if (flags.json !== undefined) await writeJson(flags.json, conversion);
    return exitCodes.done;
  } catch (error) {
    if (stop.signal.aborted) {
      process.stderr.write(
        'Interrupted; repeat the command to resume the conversion, or use --cancel to cancel it\n',
      );
      return exitCodes.interrupted;
    }
    if (!(error instanceof QueueError)) throw error;
    process.stderr.write(`${error.code}: ${error.message}\n`);
    if (error.code === 'QUEUE_NOT_DRAINED') {
      process.stderr.write('Repeat the command to resume the conversion, or use --cancel to cancel it\n');
    }
    return exitCodes.failed;
  } finally {
    process.off('SIGINT', interrupt);
  }
}

function printConversion({ queue, stage, settings: { shards } }: Conversion): void {
  const line =
    stage === 'done'
      ? `${queue} is now sharded, with ${plural(shards, 'shard')} per instance`
      : stageInWords[stage];
  process.stdout.write(`${line}\n`);
}

/** Text that is not a number becomes NaN, which the engine refuses, naming the option. */
function optionsOf(flags: ConvertFlags): Partial<ConvertOptions> {
  const number = (name: keyof ConvertOptions, text: string | undefined, factor = 1) =>
    text === undefined ? {} : { [name]: Number(text) * factor };
  return {
    ...number('shards', flags.shards),
    ...number('attemptsMax', flags['attempts-max']),
    ...number('retryDelayMs', flags['retry-delay']),
    ...number('cacheBytesMax', flags['cache-mib'], 1024 ** 2),
    ...number('drainMsMax', flags['drain-s'], 1000),
    ...(flags.priorities && { priorities: true }),
  };
}
