/**
 * The first line of a connection between two processes of the server: whose connection of the shared port it stands for. Then
 * come the client's bytes, as they are. Only processes of this user can connect (`socketPath`), so it is believed.
 */
import { connect, type Socket } from 'node:net';
import { socketPath } from '@shardlab/engine';

export interface Introduction {
  /** Address of the client, and the port to which it is connected. */
  client: string;
  port: number;
}

/** The server itself is closing: the process answers what is in progress, and ends its connections. */
const closing = 'closing';

const newline = 0x0a;

/** Socket paths of the server's process and of the instances' processes. */
export const serverSocketPath = (dir: string) => socketPath(dir, 'http.sock');
export const instanceHttpPath = (dir: string, instance: number) => socketPath(dir, `http-${instance}.sock`);

export function introductionOf({ remoteAddress = '', localPort = 0 }: Socket): Introduction {
  return { client: remoteAddress, port: localPort };
}

/** The socket is connecting; what is written to it follows the line. */
export function connectAs(introduction: Introduction, path: string): Socket {
  const socket = connect({ path, allowHalfOpen: true });
  socket.write(`${JSON.stringify(introduction)}\n`);
  return socket;
}

export function tellClosing(path: string): void {
  const socket = connect(path);
  socket.on('error', () => undefined); // its process has ended
  socket.end(`${JSON.stringify(closing)}\n`);
}

/**
 * Reads the line and calls one of the two. Afterwards the socket has the address of the client, and is paused, with the bytes
 * after the line unread.
 */
export function readIntroduction(
  socket: Socket,
  { onClient, onClosing }: { onClient(): void; onClosing?(): void },
): void {
  socket.on('error', () => undefined); // reported by 'close'
  socket.once('data', (chunk: Buffer) => {
    socket.pause();
    const end = chunk.indexOf(newline);
    const line = parseLine(chunk.toString('utf8', 0, Math.max(0, end)));
    if (line === closing) {
      socket.destroy();
      onClosing?.();
      return;
    }
    if (line === undefined) {
      socket.destroy();
      return;
    }
    Object.defineProperties(socket, {
      remoteAddress: { value: line.client },
      localPort: { value: line.port },
    });
    if (end + 1 < chunk.length) socket.unshift(chunk.subarray(end + 1));
    onClient();
  });
}

/** Written in one piece, and shorter than any buffer: a part of it is no line. */
function parseLine(text: string): Introduction | typeof closing | undefined {
  try {
    return JSON.parse(text) as Introduction | typeof closing;
  } catch {
    return undefined;
  }
}
