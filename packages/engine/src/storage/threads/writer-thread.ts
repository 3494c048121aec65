/**
 * The writer thread of an instance: owns the instance's file, commits one group after the other and syncs each, so that
 * the thread of the sessions never waits for a disk. Started by `writer-thread-client.ts`.
 *
 * Groups behind a failed one were numbered as if it had succeeded, so they fail too until the session thread has seen the
 * failure, which a higher generation shows. After a failed sync it is unknown what the disk holds, so nothing more is
 * written; opening the file again finds out.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { Group, GroupResult, StatementAnswer, WriterReply } from '../../model/group-message.ts';
import type { SqlStatement } from '../../model/sql-statement.ts';
import type { StorageFailure } from '../../model/storage-failure.ts';
import { nodePorts } from '../../node-ports.ts';
import { InstanceFile } from '../instance-file/instance-file.ts';
import { toStorageFailure } from '../sqlite/storage-failure.ts';
import { AnswerSender, GroupReceiver } from './writer-channel.ts';

const { path, emulatedSyncMs, groups, answers } = workerData as {
  path: string;
  emulatedSyncMs: number;
  groups: SharedArrayBuffer;
  answers: SharedArrayBuffer;
};
const { clock } = nodePorts;
const emulatedSyncSignal = new Int32Array(new SharedArrayBuffer(4));
const port = parentPort!;
const reply = (message: WriterReply) => port.postMessage(message);
const cpuUs = () => {
  const { user, system } = process.threadCpuUsage();
  return user + system;
};

function commitGroup(file: InstanceFile, group: Group): GroupResult {
  const startedAt = clock.monotonicMs();
  let maintainedAt = startedAt;
  let failure: GroupResult['failure'] = null;
  let done: Pick<GroupResult, 'unusablePartitions' | 'sqlOutcomes'> = {
    unusablePartitions: [],
    sqlOutcomes: [],
  };
  try {
    done = file.commit(group, () => {
      maintainedAt = clock.monotonicMs();
    });
    if (emulatedSyncMs > 0 && group.sync === 'FULL') Atomics.wait(emulatedSyncSignal, 0, 0, emulatedSyncMs);
  } catch (error) {
    failure = toStorageFailure(error, path);
  }
  return {
    kind: 'group',
    groupNumber: group.groupNumber,
    generation: group.generation,
    failure,
    ...done,
    maintenanceMs: maintainedAt - startedAt,
    commitMs: clock.monotonicMs() - maintainedAt,
    cpuUs: cpuUs(),
  };
}

function answerStatement(file: InstanceFile, statement: SqlStatement): StatementAnswer {
  try {
    return { outcome: file.executeStatement(statement), storageFailure: null };
  } catch (error) {
    return { outcome: { results: [], failure: null }, storageFailure: toStorageFailure(error, path) };
  }
}

/** Runs after the group is acknowledged. A failure does not affect its transactions, but nothing may follow them. */
function checkpoint(file: InstanceFile, group: Group): StorageFailure | null {
  try {
    file.checkpoint(group);
    return null;
  } catch (error) {
    const failure = { ...toStorageFailure(error, path), fatal: true };
    reply({ kind: 'file failed', failure });
    return failure;
  }
}

function serve(file: InstanceFile): void {
  let generation = 0;
  let failed: GroupResult['failure'] = null;
  const channel = new GroupReceiver(groups, port, clock);
  const sender = new AnswerSender(answers, reply);
  for (;;) {
    const request = channel.next();
    if (request.kind === 'close') {
      file.close();
      reply({ kind: 'closed' });
      port.close();
      return;
    }
    if (request.kind === 'release') {
      file.rollBackStatements();
      continue;
    }
    if (request.kind === 'statement') {
      const answer = answerStatement(file, request.statement);
      if (answer.storageFailure?.fatal) failed = answer.storageFailure;
      reply({ kind: 'statement', ...answer });
      continue;
    }
    if (failed !== null && (failed.fatal || request.generation === generation)) {
      const { groupNumber } = request;
      sender.send({
        kind: 'group',
        groupNumber,
        generation,
        failure: failed,
        unusablePartitions: [],
        sqlOutcomes: [],
        maintenanceMs: 0,
        commitMs: 0,
        cpuUs: cpuUs(),
      });
      continue;
    }
    generation = request.generation;
    const result = commitGroup(file, request);
    failed = result.failure;
    sender.send(result);
    if (failed === null) failed = checkpoint(file, request);
  }
}

try {
  const file = new InstanceFile(path, clock);
  const recovered = file.recover();
  reply({ kind: 'opened', recovered, cpuUs: cpuUs() });
  serve(file);
} catch (error) {
  reply({ kind: 'failed', failure: toStorageFailure(error, path) });
  port.close();
}
