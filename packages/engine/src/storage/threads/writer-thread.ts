/**
 * The writer thread of an instance: owns the instance's file and commits its groups, so that the thread of the sessions
 * never waits for a disk. Started by `writer-thread-client.ts`. It runs no statements of the application: nothing can
 * interrupt SQLite, and a thread cannot be killed while SQLite runs.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { newWriterState, type WriterReply, type WriterState } from '../../model/group-message.ts';
import type { StorageFailure } from '../../model/storage-failure.ts';
import { nodeClocks } from '../../node-clocks.ts';
import { openEmulatedDisk } from '../emulated-disk.ts';
import { cpuUsOf, GroupWriter } from '../instance-file/group-writer.ts';
import { InstanceFile } from '../instance-file/instance-file.ts';
import { toStorageFailure } from '../sqlite/storage-failure.ts';
import { AnswerSender, GroupReceiver } from './writer-channel.ts';
import type { WriterOptions } from './writer-thread-client.ts';

const { path, emulatedSync, logBytesMax, groups, answers } = workerData as WriterOptions & {
  groups: SharedArrayBuffer;
  answers: SharedArrayBuffer;
};
const { clock, thread } = nodeClocks;
const port = parentPort!;
const reply: (message: WriterReply) => void = port.postMessage.bind(port);

function open(): InstanceFile | undefined {
  try {
    const file = new InstanceFile(path, clock, logBytesMax);
    reply({ kind: 'opened', recovered: file.recover(), cpuUs: cpuUsOf(thread) });
    return file;
  } catch (error) {
    reply({ kind: 'failed', failure: toStorageFailure(error, path) });
    port.close();
    return undefined;
  }
}

/** Continues after another thread has committed groups. If the file cannot be read, nothing more is written. */
function continuedState(file: InstanceFile, state: WriterState): WriterState {
  try {
    file.takeOver();
    return state;
  } catch (error) {
    const failure = { ...toStorageFailure(error, path), fatal: true };
    reply({ kind: 'file failed', failure });
    return { ...state, failure };
  }
}

const channel = new GroupReceiver(groups, port, clock);
const sender = new AnswerSender(answers, reply);
const answer = sender.send.bind(sender);
const emulatedDisk = openEmulatedDisk(emulatedSync, nodeClocks);
const file = open();
if (file !== undefined) {
  const onFileFailed = (failure: StorageFailure) => reply({ kind: 'file failed', failure });
  const options = { path, emulatedDisk, clock, thread, onFileFailed };
  let writer = new GroupWriter(file, options, newWriterState);
  for (let request = channel.next(); request.kind !== 'close'; request = channel.next()) {
    if (request.kind === 'group') writer.write(request, answer);
    else if (request.kind === 'suspend') reply({ kind: 'suspended' });
    else if (request.state !== null)
      writer = new GroupWriter(file, options, continuedState(file, request.state));
  }
  file.close();
  emulatedDisk?.close();
  reply({ kind: 'closed' });
  port.close();
}
