/**
 * The applier of an instance: owns the instance's file and writes to it what the redo log has, many groups in a transaction, so that the
 * thread of the sessions never waits for SQLite. Started for `redo-writer.ts`. It runs no statements of the application: nothing can
 * interrupt SQLite, and a thread cannot be killed while SQLite runs. When the file is closed, the thread waits for the next one.
 */
import { parentPort } from 'node:worker_threads';
import type { AppliedGroups, AppliedWork } from '../../model/applied-groups.ts';
import type { Epoch, GroupNumber } from '../../model/ids.ts';
import type { RecoveredInstance } from '../../model/recovered-instance.ts';
import type { StorageFailure } from '../../model/storage-failure.ts';
import { nodeClocks } from '../../node-clocks.ts';
import { InstanceFile } from '../instance-file/instance-file.ts';
import { openSegments } from '../redo/log-end.ts';
import { LogReader } from '../redo/log-reader.ts';
import { closeSegment, type OpenSegment, openSegment, type SegmentRow } from '../redo/segment-files.ts';
import { toStorageFailure } from '../sqlite/storage-failure.ts';
import type { FileThreadRequest } from './file-threads.ts';

export interface ApplierFile {
  path: string;
  logBytesMax: number;
  epochKnown: Epoch;
}

/** Each has one answer, in order. */
export type ApplierRequest =
  /** Write the groups up to this one to the tables: they are durable. */
  { kind: 'apply'; through: GroupNumber } | { kind: 'add segment'; segment: SegmentRow } | { kind: 'close' };

export type ApplierReply =
  /** CPU times of the thread when it began to open the file, and when it had opened it: it may have served other files before. */
  | { kind: 'opened'; recovered: RecoveredInstance; cpuUsBefore: number; cpuUs: number }
  | ({ kind: 'applied'; cpuUs: number; work: AppliedWork } & AppliedGroups)
  | { kind: 'segment added' }
  | { kind: 'failed'; failure: StorageFailure }
  | { kind: 'closed' };

const { clock, thread } = nodeClocks;

/** Of this thread so far, microseconds. */
function cpuUs(): number {
  const { user, system } = thread.cpuUsage();
  return user + system;
}

const port = parentPort!;
const reply: (message: ApplierReply) => void = port.postMessage.bind(port);

interface OpenFile {
  path: string;
  file: InstanceFile;
  logId: Uint8Array;
  segments: OpenSegment[];
  reader: LogReader;
}

let opened: OpenFile | undefined;

function open({ path, logBytesMax, epochKnown }: ApplierFile): void {
  const cpuUsBefore = cpuUs();
  try {
    const file = new InstanceFile(path, clock, { logBytesMax, epochKnown });
    const recovered = file.recover();
    const { logId, turn, end } = recovered.redo;
    const segments = openSegments(path, recovered.redo);
    // All that the log had is applied: what comes next is in a segment that is begun anew.
    const reader = new LogReader(logId, segments, { turn, offset: Number.MAX_SAFE_INTEGER, end });
    opened = { path, file, logId, segments, reader };
    reply({ kind: 'opened', recovered, cpuUsBefore, cpuUs: cpuUs() });
  } catch (error) {
    reply({ kind: 'failed', failure: toStorageFailure(error, path) });
    port.close(); // the end of the thread closes what of the file was opened
  }
}

function answer({ file, path, logId, segments, reader }: OpenFile, request: ApplierRequest): void {
  try {
    switch (request.kind) {
      case 'apply': {
        const applied = file.applyLog(reader, logId, request.through);
        reply({ kind: 'applied', cpuUs: cpuUs(), ...applied });
        break;
      }
      case 'add segment':
        file.growLog(request.segment);
        segments.push(openSegment(path, request.segment));
        reply({ kind: 'segment added' });
        break;
      case 'close':
        file.close();
        for (const segment of segments) closeSegment(segment);
        opened = undefined;
        reply({ kind: 'closed' });
    }
  } catch (error) {
    reply({ kind: 'failed', failure: toStorageFailure(error, path) });
  }
}

port.on('message', (request: FileThreadRequest<ApplierFile> | ApplierRequest) => {
  if (request.kind === 'open') open(request.file);
  else if (request.kind === 'end') port.close();
  else if (opened !== undefined) answer(opened, request);
});
