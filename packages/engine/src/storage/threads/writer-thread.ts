/**
 * The writer thread of an instance: owns the instance's file and commits its groups, so that the thread of the sessions
 * never waits for a disk. Started for `writer-thread-client.ts`. It runs no statements of the application: nothing can
 * interrupt SQLite, and a thread cannot be killed while SQLite runs. When the file is closed, the thread waits for the next one.
 */
import { parentPort } from 'node:worker_threads';
import { newWriterState, type WriterReply, type WriterState } from '../../model/group-message.ts';
import type { StorageFailure } from '../../model/storage-failure.ts';
import { nodeClocks } from '../../node-clocks.ts';
import { openEmulatedDisk } from '../emulated-disk.ts';
import { cpuUsOf, GroupWriter } from '../instance-file/group-writer.ts';
import { InstanceFile } from '../instance-file/instance-file.ts';
import { toStorageFailure } from '../sqlite/storage-failure.ts';
import type { FileThreadRequest } from './file-threads.ts';
import { AnswerSender, GroupReceiver } from './writer-channel.ts';
import type { WriterOptions } from './writer-thread-client.ts';

type WriterFile = WriterOptions & { groups: SharedArrayBuffer; answers: SharedArrayBuffer };

const { clock, thread } = nodeClocks;
const port = parentPort!;
const reply: (message: WriterReply) => void = port.postMessage.bind(port);

/** Opens the file, commits groups to it until it is to be closed, and closes it; blocks the thread meanwhile. */
function serveFile(options: WriterFile): void {
  const { path, emulatedSync, groups, answers } = options;
  const channel = new GroupReceiver(groups, port, clock);
  const sender = new AnswerSender(answers, reply);
  const answer = sender.send.bind(sender);
  const emulatedDisk = openEmulatedDisk(emulatedSync, nodeClocks);
  const file = open(options);
  if (file !== undefined) {
    const onFileFailed = (failure: StorageFailure) => reply({ kind: 'file failed', failure });
    const writing = { path, emulatedDisk, clock, thread, onFileFailed };
    let writer = new GroupWriter(file, writing, newWriterState);
    for (let request = channel.next(); request.kind !== 'close'; request = channel.next()) {
      if (request.kind === 'group') writer.write(request, answer);
      else if (request.kind === 'suspend') reply({ kind: 'suspended' });
      else if (request.state !== null)
        writer = new GroupWriter(file, writing, continuedState(file, path, request.state));
    }
    file.close();
    reply({ kind: 'closed' });
  }
  emulatedDisk?.close();
}

function open({ path, logBytesMax }: WriterFile): InstanceFile | undefined {
  const cpuUsBefore = cpuUsOf(thread);
  try {
    const file = new InstanceFile(path, clock, logBytesMax);
    reply({ kind: 'opened', recovered: file.recover(), cpuUsBefore, cpuUs: cpuUsOf(thread) });
    return file;
  } catch (error) {
    reply({ kind: 'failed', failure: toStorageFailure(error, path) });
    port.close(); // the end of the thread closes what of the file was opened
    return undefined;
  }
}

/** Continues after another thread has committed groups. If the file cannot be read, nothing more is written. */
function continuedState(file: InstanceFile, path: string, state: WriterState): WriterState {
  try {
    file.takeOver();
    return state;
  } catch (error) {
    const failure = { ...toStorageFailure(error, path), fatal: true };
    reply({ kind: 'file failed', failure });
    return { ...state, failure };
  }
}

port.on('message', (request: FileThreadRequest<WriterFile>) => {
  if (request.kind === 'open') serveFile(request.file);
  else port.close();
});
