/** How a process reaches the elected writer of the folder: over a socket, or directly because it was elected itself. */
import { connect, type Socket } from 'node:net';
import { pause } from '../model/pause.ts';
import type { Ports } from '../model/ports.ts';
import { socketPath } from '../storage/socket-path.ts';
import { tryFolderLock } from '../storage/sqlite/folder-lock.ts';
import { encodeFrame, FrameSplitter } from '../storage/threads/process-frames.ts';
import type { UnshardedFile } from '../storage/unsharded/unsharded-file.ts';
import type { WriteBatch } from '../storage/unsharded/write-group.ts';
import type { WriterMessage } from './group-messages.ts';
import { GroupServer } from './group-server.ts';
import type { SharedFileLock } from './shared-file-lock.ts';

export interface GroupLink {
  /** Undefined if another process is the writer. */
  readonly server: GroupServer | undefined;
  /** There is something to write: `take` is called soon. */
  request(): void;
  close(): void;
}

export interface GroupLinkOptions {
  dir: string;
  file: UnshardedFile;
  writeLock: SharedFileLock;
  ports: Pick<Ports, 'clock' | 'timers'>;
  /** False once the link is no longer needed: then the election ends. */
  isWanted(): boolean;
  /** The next batch; `isRemote`: for another process. */
  take(isRemote: boolean): WriteBatch | undefined;
  onMessage(message: WriterMessage): void;
  /** This process is the writer and cannot write. */
  onFailed(error: unknown): void;
  /** The writer has ended: its last answers may be missing. */
  onLost(): void;
}

/** Milliseconds between two attempts while another process is becoming the writer, or stops being it. */
const retryMs = 5;

/** Resolves once there is a writer; with undefined if the link is no longer wanted. */
export async function openGroupLink(options: GroupLinkOptions): Promise<GroupLink | undefined> {
  const { dir, file, writeLock, ports, take, onMessage, onFailed } = options;
  const path = socketPath(dir, 'group-writer.sock');
  while (options.isWanted()) {
    const socket = await tryConnect(path);
    if (socket !== undefined) return linkOver(socket, options);
    const election = tryFolderLock(dir, 'group-writer.db');
    if (election !== undefined) {
      const local = { take: () => take(false), onMessage, onFailed };
      try {
        const server = await GroupServer.start({ path, file, election, writeLock, local, ports });
        return { server, request: () => server.request(), close: () => server.close() };
      } catch (error) {
        election.release();
        throw error;
      }
    }
    await pause(ports.timers, retryMs);
  }
  return undefined;
}

async function tryConnect(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const attempt = connect(path);
    attempt.once('connect', () => resolve(attempt));
    attempt.once('error', () => resolve(undefined));
  });
}

function linkOver(
  socket: Socket,
  { ports, take, onMessage, onLost }: Pick<GroupLinkOptions, 'ports' | 'take' | 'onMessage' | 'onLost'>,
): GroupLink {
  const frames = new FrameSplitter();
  let scheduled = false;
  let unanswered = false;
  const request = () => {
    socket.ref(); // keeps the process alive until the answer
    if (scheduled) return;
    scheduled = true;
    // Requests that sessions make in this turn are sent together.
    ports.timers.nextTurn(() => {
      scheduled = false;
      const batch = take(true);
      if (batch === undefined) {
        if (!unanswered) socket.unref();
        return;
      }
      unanswered = true;
      socket.write(encodeFrame(batch));
    });
  };
  socket.on('data', (bytes: Buffer) => {
    for (const head of frames.push(bytes)) {
      const message = head as WriterMessage;
      if (message.answer !== undefined) unanswered = false;
      onMessage(message);
    }
    if (!scheduled && !unanswered) socket.unref();
  });
  socket.on('error', () => undefined); // 'close' follows
  socket.on('close', onLost);
  socket.unref();
  return { server: undefined, request, close: () => void socket.destroy() };
}
