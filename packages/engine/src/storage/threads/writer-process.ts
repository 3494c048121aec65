/**
 * The writer process of an instance: owns the instance's file once the application has used SQL. It applies the redo log, as the thread
 * before it did, and commits the groups with statements of the application, which can be ended only by ending their process. Started by
 * `writer-process-client.ts`; `docs/decisions/application-sql.md` says why it is a process.
 *
 * It reads requests from standard input, one after the other and without an event loop, and ends when its input does.
 */
import { writeFileSync } from 'node:fs';
import { limits } from '../../api/limits.ts';
import type { CommitAnswer, Group, StatementAnswer } from '../../model/group-message.ts';
import type { SqlStatement } from '../../model/sql-statement.ts';
import type { StorageFailure } from '../../model/storage-failure.ts';
import { nodeClocks } from '../../node-clocks.ts';
import { type EmulatedDisk, openEmulatedDisk } from '../emulated-disk.ts';
import { InstanceFile, type StatementSteps } from '../instance-file/instance-file.ts';
import { openSegments } from '../redo/log-end.ts';
import { LogReader } from '../redo/log-reader.ts';
import { type OpenSegment, openSegment } from '../redo/segment-files.ts';
import { toStorageFailure } from '../sqlite/storage-failure.ts';
import { FrameReader, writeFrame } from './process-frames.ts';
import {
  type GroupRequest,
  inputDescriptor,
  type OpenRequest,
  outputDescriptor,
  transactionFailure,
  type WriterProcessReply,
  type WriterProcessRequest,
} from './process-messages.ts';
import { StatementWatchdog } from './statement-watchdog.ts';

const { clock, thread } = nodeClocks;
const reader = new FrameReader(inputDescriptor);

function reply(message: WriterProcessReply): void {
  try {
    writeFrame(outputDescriptor, message);
  } catch (error) {
    // The process that started this one is gone, as at the end of the input.
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') process.exit();
    throw error;
  }
}

/** A frame's head; undefined at the end of the input: the process that started this one is gone. */
const nextRequest = () =>
  reader.next() as { head: WriterProcessRequest; body: SharedArrayBuffer } | undefined;

/** CPU time so far, microseconds: all that the process has used counts. */
function cpuUs(): number {
  const { user, system } = thread.cpuUsage();
  return user + system;
}

interface OpenFile {
  path: string;
  file: InstanceFile;
  logId: Uint8Array;
  segments: OpenSegment[];
  log: LogReader;
  watchdog: StatementWatchdog;
  /** Each sync of a group takes at least as long as on it; undefined: the disk is as it is. */
  disk: EmulatedDisk | undefined;
}

function open({ path, epoch, logBytesMax, emulatedSync, parentPid }: OpenRequest): OpenFile | undefined {
  const watchdog = new StatementWatchdog(nodeClocks, parentPid);
  try {
    const file = new InstanceFile(path, clock, { logBytesMax });
    const { logId, applied, inTables, segments: rows } = file.resume(epoch);
    const segments = openSegments(path, { segments: rows });
    const log = new LogReader(logId, segments, applied, inTables);
    const disk = openEmulatedDisk(emulatedSync, nodeClocks);
    watchdog.awaitReady(); // it starts while the file is opened
    reply({ kind: 'opened', lastGroup: inTables, cpuUs: cpuUs() });
    return { path, file, logId, segments, log, watchdog, disk };
  } catch (error) {
    reply({ kind: 'not opened', failure: toStorageFailure(error, path) });
    return undefined;
  }
}

function serve(opened: OpenFile): void {
  const { path, file, logId, segments, log, watchdog } = opened;
  const answer = (run: () => WriterProcessReply) => {
    try {
      reply(run());
    } catch (error) {
      reply({ kind: 'failed', failure: toStorageFailure(error, path) });
    }
  };
  for (let frame = nextRequest(); frame !== undefined; frame = nextRequest()) {
    const { head: request, body } = frame;
    switch (request.kind) {
      case 'apply':
        answer(() => {
          const { through, work } = file.applyLog(log, logId, request.through, (unusablePartitions) =>
            reply({ kind: 'committing', unusablePartitions, sqlOutcomes: [] }),
          );
          return { kind: 'applied', cpuUs: cpuUs(), through, work };
        });
        break;
      case 'add segment':
        answer(() => {
          file.growLog(request.segment);
          segments.push(openSegment(path, request.segment));
          return { kind: 'segment added' };
        });
        break;
      case 'group': {
        const group = { ...request.group, buffer: body };
        const committed = commit(opened, group, statementSteps(watchdog, request));
        reply({ kind: 'group', ...committed, cpuUs: cpuUs() });
        if (committed.failure === null) checkpoint(opened, group);
        break;
      }
      case 'statement':
        reply({ kind: 'running', transaction: 0 }); // if the process ends now, the statement may be at fault
        reply({ kind: 'statement', ...execute(opened, request.statement) });
        break;
      case 'release':
        file.rollBackStatements();
        break;
      case 'close':
        file.close();
        reply({ kind: 'closed' });
        return;
      case 'open':
        throw new Error('The file is open already');
    }
  }
}

function statementSteps(watchdog: StatementWatchdog, { failed, announce }: GroupRequest): StatementSteps {
  let firstRunAtMs: number | undefined;
  return {
    run: (transaction, execute) => {
      const failure = failed.get(transaction);
      if (failure !== undefined) return { results: [], failure };
      firstRunAtMs ??= clock.monotonicMs();
      if (clock.monotonicMs() - firstRunAtMs > limits.sqlExecutionMsMax)
        return { results: [], failure: transactionFailure('SQL_NOT_RUN') };
      if (announce) reply({ kind: 'running', transaction });
      return watchdog.guard(transaction, execute);
    },
    onCommitting: (done) => {
      if (done.sqlOutcomes.length + done.unusablePartitions.length > 0)
        reply({ kind: 'committing', ...done });
    },
  };
}

function commit(
  { path, file, disk }: OpenFile,
  group: Group,
  statements: StatementSteps,
): Pick<CommitAnswer, 'failure' | 'maintenanceMs' | 'commitMs'> {
  const startedAt = clock.monotonicMs();
  let maintainedAt = startedAt;
  let failure: StorageFailure | null = null;
  const onMaintained = () => {
    maintainedAt = clock.monotonicMs();
  };
  try {
    file.commit(group, { onMaintained, onSyncing: () => disk?.begin() }, statements);
    disk?.end();
  } catch (error) {
    failure = toStorageFailure(error, path);
  }
  return { failure, maintenanceMs: maintainedAt - startedAt, commitMs: clock.monotonicMs() - maintainedAt };
}

/** A failure does not affect the group, which is acknowledged, but nothing may follow it. */
function checkpoint({ path, file }: OpenFile, group: Group): void {
  try {
    file.checkpoint(group);
  } catch (error) {
    reply({ kind: 'file failed', failure: { ...toStorageFailure(error, path), fatal: true } });
  }
}

function execute({ path, file, watchdog }: OpenFile, statement: SqlStatement): StatementAnswer {
  try {
    const outcome = file.executeStatement(statement, (run) => watchdog.guard(0, run));
    return { outcome, storageFailure: null };
  } catch (error) {
    return { outcome: { results: [], failure: null }, storageFailure: toStorageFailure(error, path) };
  }
}

/** Makes this process the first to be killed when the system runs out of memory, because the instance survives that. Linux only. */
function volunteerToBeKilled(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {}
}

// A terminal or a service manager signals all processes of a group: the process that started this one decides.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
volunteerToBeKilled();
const first = nextRequest()?.head;
if (first?.kind === 'open') {
  const opened = open(first);
  if (opened !== undefined) serve(opened);
}
process.exit(); // the watchdog's thread would go on
