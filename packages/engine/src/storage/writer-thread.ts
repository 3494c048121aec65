/**
 * The writer thread of an instance: owns the instance's file, applies one group after the other and syncs each, so that
 * the thread that runs sessions never waits for a disk. Started by `instance/storage-threads.ts`.
 *
 * If a group fails, those behind it were numbered as if it had not: they fail too, until the session thread has seen the
 * failure and says so by a higher generation. After a failed sync nothing is known about what the disk holds, so nothing
 * more is written; opening the file again finds out.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { SqlStatement } from '../core/sql-statement.ts';
import { AnswerSender } from './answer-channel.ts';
import { GroupReceiver } from './group-channel.ts';
import type { Group, GroupResult, StatementAnswer, StorageFailure, WriterReply } from './group-message.ts';
import { InstanceFile } from './instance-file.ts';
import { toFailure } from './storage-failure.ts';

const { path, emulatedSyncMs, groups, answers } = workerData as {
  path: string;
  emulatedSyncMs: number;
  groups: SharedArrayBuffer;
  answers: SharedArrayBuffer;
};
const slowDisk = new Int32Array(new SharedArrayBuffer(4));
const port = parentPort!;
const reply = (message: WriterReply) => port.postMessage(message);
const cpuUs = () => {
  const { user, system } = process.threadCpuUsage();
  return user + system;
};

function commitGroup(file: InstanceFile, group: Group): GroupResult {
  const startedAt = performance.now();
  let maintainedAt = startedAt;
  let failure: GroupResult['failure'] = null;
  let done: Pick<GroupResult, 'unusable' | 'sql'> = { unusable: [], sql: [] };
  try {
    done = file.commit(group, () => {
      maintainedAt = performance.now();
    });
    if (emulatedSyncMs > 0 && group.sync === 'FULL') Atomics.wait(slowDisk, 0, 0, emulatedSyncMs);
  } catch (error) {
    failure = toFailure(error, path);
  }
  return {
    kind: 'group',
    no: group.no,
    generation: group.generation,
    failure,
    ...done,
    maintenanceMs: maintainedAt - startedAt,
    commitMs: performance.now() - maintainedAt,
    cpuUs: cpuUs(),
  };
}

function answerStatement(file: InstanceFile, statement: SqlStatement): StatementAnswer {
  try {
    return { outcome: file.execute(statement), lost: null };
  } catch (error) {
    return { outcome: { results: [], failure: null }, lost: toFailure(error, path) };
  }
}

/** Once the group is acknowledged. A failure concerns none of its transactions, but all that would follow. */
function checkpoint(file: InstanceFile, group: Group): StorageFailure | null {
  try {
    file.checkpoint(group);
    return null;
  } catch (error) {
    const failure = { ...toFailure(error, path), fatal: true };
    reply({ kind: 'broken', failure });
    return failure;
  }
}

function serve(file: InstanceFile): void {
  let generation = 0;
  let failed: GroupResult['failure'] = null;
  const channel = new GroupReceiver(groups, port);
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
      file.release();
      continue;
    }
    if (request.kind === 'statement') {
      const answer = answerStatement(file, request.statement);
      if (answer.lost?.fatal) failed = answer.lost;
      reply({ kind: 'statement', ...answer });
      continue;
    }
    if (failed !== null && (failed.fatal || request.generation === generation)) {
      const { no } = request;
      sender.send({
        kind: 'group',
        no,
        generation,
        failure: failed,
        unusable: [],
        sql: [],
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
  const file = new InstanceFile(path);
  const recovered = file.recover();
  reply({ kind: 'opened', recovered, cpuUs: cpuUs() });
  serve(file);
} catch (error) {
  reply({ kind: 'failed', failure: toFailure(error, path) });
  port.close();
}
