/** Reads the instance's file, and is never behind a durable commit: a read waits until the tables have what it is about. */
import type { GroupNumber, PartitionId } from '../model/ids.ts';
import type { FileReader, ReadOperation, ReadResults } from '../model/read-request.ts';
import type { UnappliedGroup } from './group-commit.ts';
import type { WriterPort } from './writer-port.ts';

export interface AppliedReaderOptions {
  file: FileReader;
  /** In the order of their numbers. */
  unapplied(): readonly UnappliedGroup[];
  writer: Pick<WriterPort, 'whenApplied'>;
}

export class AppliedReader implements FileReader {
  readonly #options: AppliedReaderOptions;

  constructor(options: AppliedReaderOptions) {
    this.#options = options;
  }

  read<R extends ReadOperation>(request: R): Promise<ReadResults[R['kind']]> {
    const { file, unapplied, writer } = this.#options;
    const needed = lastChangeOf(request, unapplied());
    // A backlog is mostly read from partitions that were applied long ago.
    if (needed === undefined) return file.read(request);
    return writer.whenApplied(needed).then(() => file.read(request));
  }

  close(): Promise<void> {
    return this.#options.file.close();
  }
}

/** The last of these groups that changed what a read returns; undefined if none did. */
function lastChangeOf(request: ReadOperation, groups: readonly UnappliedGroup[]): GroupNumber | undefined {
  const changes =
    request.kind === 'blocks' || request.kind === 'search'
      ? (group: UnappliedGroup) => addsTo(group, request.partition)
      : writesTables;
  return groups.findLast(changes)?.groupNumber;
}

function addsTo({ message }: UnappliedGroup, partition: PartitionId): boolean {
  return [message, ...message.sqlTransactions].some(({ blocks }) =>
    blocks.some((block) => block.partition === partition),
  );
}

/** Any but those of messages and their consumption. */
const writesTables = ({ message: { tableWrites, sqlTransactions } }: UnappliedGroup): boolean =>
  tableWrites.length + sqlTransactions.length > 0;
