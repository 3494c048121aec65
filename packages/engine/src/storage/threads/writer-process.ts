/**
 * The writer process of an instance: owns the instance's file once the application has used SQL, commits the groups and
 * runs the application's statements, which can be ended only by ending their process. Started by
 * `writer-process-client.ts`; `docs/decisions/application-sql.md` says why it is a process.
 *
 * It reads requests from standard input, one after the other and without an event loop, and ends when its input does.
 */
import { writeFileSync } from 'node:fs';
import { limits } from '../../api/limits.ts';
import type { StorageFailure } from '../../model/storage-failure.ts';
import { nodeClocks } from '../../node-clocks.ts';
import { openEmulatedDisk } from '../emulated-disk.ts';
import { cpuUsOf, GroupWriter } from '../instance-file/group-writer.ts';
import { InstanceFile, type StatementSteps } from '../instance-file/instance-file.ts';
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

function open(
  { path, epoch, logBytesMax }: OpenRequest,
  watchdog: StatementWatchdog,
): InstanceFile | undefined {
  try {
    const file = new InstanceFile(path, clock, { logBytesMax });
    const lastGroup = file.resume(epoch);
    watchdog.awaitReady(); // it starts while the file is opened
    reply({ kind: 'opened', lastGroup, cpuUs: cpuUsOf(thread) });
    return file;
  } catch (error) {
    reply({ kind: 'failed', failure: toStorageFailure(error, path) });
    return undefined;
  }
}

interface Served {
  file: InstanceFile;
  watchdog: StatementWatchdog;
}

function serve({ file, watchdog }: Served, { path, emulatedSync, state }: OpenRequest): void {
  const onFileFailed = (failure: StorageFailure) => reply({ kind: 'file failed', failure });
  const emulatedDisk = openEmulatedDisk(emulatedSync, nodeClocks);
  const writer = new GroupWriter(file, { path, emulatedDisk, clock, thread, onFileFailed }, state);

  const commit = ({ group: content, failed, announce, refusal }: GroupRequest, buffer: SharedArrayBuffer) => {
    const group = { ...content, buffer };
    if (refusal !== null) {
      reply(writer.refuse(group, refusal));
      return;
    }
    let firstRunAtMs: number | undefined;
    const statements: StatementSteps = {
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
    writer.write(group, (result) => reply({ ...result, sqlOutcomes: [] }), statements);
  };

  for (let frame = nextRequest(); frame !== undefined; frame = nextRequest()) {
    const { head: request, body } = frame;
    switch (request.kind) {
      case 'group':
        commit(request, body);
        break;
      case 'statement': {
        reply({ kind: 'running', transaction: 0 }); // if the process ends now, the statement may be at fault
        const answer = writer.executeStatement(request.statement, (run) => watchdog.guard(0, run));
        reply({ kind: 'statement', ...answer });
        break;
      }
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
  const watchdog = new StatementWatchdog(nodeClocks, first.parentPid);
  const file = open(first, watchdog);
  if (file !== undefined) serve({ file, watchdog }, first);
}
process.exit(); // the watchdog's thread would go on
