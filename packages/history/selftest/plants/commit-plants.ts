/** Bugs of sessions, group commit, the instance file and its recovery. */
import type { Plant } from './plant.ts';

const instanceFile = 'storage/instance-file/instance-file.ts';
const redoWriter = 'storage/threads/redo-writer.ts';
const group = 'commit/group.ts';
const transaction = 'queues/sharded-transaction.ts';

export const commitPlants: readonly Plant[] = [
  {
    name: 'some acknowledged groups are not in the log',
    workload: 'plain',
    kinds: ['loss', 'doubling', 'torn'],
    edits: [
      {
        file: redoWriter,
        find: 'const isWritten = this.#log.append({',
        replace:
          'const isWritten = (group.blocks.length + group.tableWrites.length + Object.values(group.poolChanges).flat().length === 0 && group.groupNumber % 3 > 0) || this.#log.append({',
      },
    ],
  },
  {
    name: 'a recovery leaves the last groups of the log out',
    workload: 'plain',
    kinds: ['loss', 'doubling', 'torn'],
    edits: [
      {
        file: instanceFile,
        find: 'this.applyLog(reader, logId);\n      const { turn, end } = reader.position;',
        replace:
          'this.applyLog(reader, logId, log.applied.end.group + 3);\n      while (reader.next() !== undefined);\n      const { turn, end } = reader.position;',
      },
    ],
  },
  {
    name: 'some consumption is not written',
    workload: 'plain',
    kinds: ['doubling', 'torn'],
    edits: [
      {
        file: instanceFile,
        find: 'this.#netEffect.addConsumption(key, groupNumber, Buffer.from(buffer, offset, length));',
        replace:
          'if (groupNumber % 3 > 0) this.#netEffect.addConsumption(key, groupNumber, Buffer.from(buffer, offset, length));',
      },
    ],
  },
  {
    name: 'the last message of a consumed range is left out',
    workload: 'plain',
    kinds: ['doubling', 'torn'],
    edits: [
      {
        file: group,
        find: 'inPartition.push([from, to]);',
        replace: 'inPartition.push([from, Math.max(from + 1, to - 1)]);',
      },
    ],
  },
  {
    name: 'recovery forgets a row of what was consumed',
    workload: 'plain',
    kinds: ['doubling', 'torn'],
    edits: [
      {
        file: 'storage/instance-file/recovery/recover-partitions.ts',
        find: 'terminalDeltas: terminal.map(',
        replace: 'terminalDeltas: terminal.slice(1).map(',
      },
    ],
  },
  {
    name: 'a merge of consumption rows drops one',
    workload: 'slow',
    kinds: ['doubling', 'torn'],
    edits: [
      {
        file: 'storage/instance-file/tables/partition-table.ts',
        find: 'const rowsPerSubscriberMax = 256;',
        replace: 'const rowsPerSubscriberMax = 3;',
      },
      {
        file: 'storage/instance-file/tables/partition-table.ts',
        find: 'const rowsPerSubscriberMin = 16;',
        replace: 'const rowsPerSubscriberMin = 3;',
      },
      {
        file: 'storage/instance-file/tables/partition-table.ts',
        find: 'mergeRanges(undamaged.flatMap(',
        replace: 'mergeRanges(undamaged.slice(1).flatMap(',
      },
    ],
  },
  {
    name: 'a transaction loses the messages of its second shard',
    workload: 'keyed',
    kinds: ['loss'],
    edits: [
      { file: group, find: 'of member.runs) {', replace: 'of member.runs.slice(0, 1)) {' },
      {
        file: group,
        find: 'for (const run of content.runs) appendRun(run, inGroup);',
        replace: 'for (const run of content.runs.slice(0, 1)) appendRun(run, inGroup);',
      },
    ],
  },
  {
    name: 'a transaction that enqueues does not consume',
    workload: 'plain',
    kinds: ['doubling', 'torn'],
    edits: [
      {
        file: group,
        find: 'addDeliveries(part?.consumed ?? consumed, member.deliveries);',
        replace:
          'if (member.runs.length === 0) addDeliveries(part?.consumed ?? consumed, member.deliveries);',
      },
    ],
  },
  {
    name: 'a rollback leaves what it enqueued',
    workload: 'plain',
    kinds: ['invention'],
    edits: [
      {
        file: transaction,
        find: 'const { dispatcher, holds, payloads } = this.#context;',
        replace:
          'const { dispatcher, holds, payloads, groupCommit } = this.#context; if (this.#staged.runs.length > 0 && this.#staged.deliveries.length === 0) void groupCommit.commit(this.#staged).catch(() => undefined);',
      },
    ],
  },
  {
    name: 'a closed session commits instead of rolling back',
    workload: 'plain',
    kinds: ['loss', 'invention'],
    edits: [
      {
        file: 'runtime/instance-session.ts',
        find: 'await this.#guard.run(transaction.rollback(how));\n  }\n\n  /** The next operation',
        replace: 'await this.#guard.run(transaction.commit());\n  }\n\n  /** The next operation',
      },
    ],
  },
  {
    name: 'staged messages are visible before their commit',
    workload: 'plain',
    kinds: ['invention'],
    edits: [
      {
        file: transaction,
        find: 'this.#staged.bytes += stageMessage({ slab, run, message, bytesNeeded, stamp });',
        replace:
          'const early = newStagedTransaction(); const earlyRun = newStagedRun(log); early.runs.push(earlyRun); early.bytes += stageMessage({ slab, run: earlyRun, message, bytesNeeded, stamp }); void this.#context.groupCommit.commit(early);',
      },
    ],
  },
  {
    name: 'a rollback forgets one of its messages',
    workload: 'plain',
    kinds: ['loss'],
    edits: [
      {
        file: transaction,
        find: 'const held = this.#staged.deliveries.filter(',
        replace: 'const held = this.#staged.deliveries.slice(1).filter(',
      },
    ],
  },
];
