/**
 * One connection of HTTP/1.1 with one request at a time: just the parts of a client that a load generator needs, because its cost
 * is a part of every rate on this machine. Responses must have a Content-Length, as those of the REST API have.
 */
import { connect, type Socket } from 'node:net';

export interface HttpResponse {
  status: number;
  body: Buffer;
}

const headEnd = Buffer.from('\r\n\r\n');
const none = Buffer.alloc(0);

export class HttpConnection {
  readonly #socket: Socket;
  readonly #host: string;
  /** Received bytes of the awaited response. */
  #chunks: Buffer[] = [];
  #received = 0;
  /** Head of that response; undefined until it has arrived. */
  #head: { status: number; bodyAt: number; length: number } | undefined;
  #awaited: PromiseWithResolvers<HttpResponse> | undefined;
  #failure: Error | undefined;

  /** Resolves when it is connected. */
  static open(url: string): Promise<HttpConnection> {
    const { hostname, port, host } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new HttpConnection(socket, host));
      });
    });
  }

  private constructor(socket: Socket, host: string) {
    this.#socket = socket;
    this.#host = host;
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('The server closed the connection')));
  }

  /** Sends a body of JSON, if there is one. Rejects when the connection fails; any status is a response. */
  request(method: string, path: string, json?: string): Promise<HttpResponse> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#awaited !== undefined) return Promise.reject(new Error('A request is in progress'));
    this.#awaited = Promise.withResolvers();
    const head = `${method} ${path} HTTP/1.1\r\nhost: ${this.#host}\r\n`;
    if (json === undefined) this.#socket.write(`${head}\r\n`);
    else {
      const length = Buffer.byteLength(json);
      this.#socket.write(`${head}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n${json}`);
    }
    return this.#awaited.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #onData(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#received += chunk.length;
    this.#head ??= this.#readHead();
    if (this.#head === undefined || this.#received < this.#head.bodyAt + this.#head.length) return;
    const { status, bodyAt, length } = this.#head;
    const all = this.#joined();
    const awaited = this.#awaited;
    this.#chunks = [];
    this.#received = 0;
    this.#head = undefined;
    this.#awaited = undefined;
    awaited?.resolve({ status, body: length === 0 ? none : all.subarray(bodyAt, bodyAt + length) });
  }

  #readHead() {
    const all = this.#joined();
    const end = all.indexOf(headEnd);
    if (end === -1) return undefined;
    const head = all.toString('latin1', 0, end);
    const status = Number(head.slice(9, 12));
    const [, length] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? [];
    if (length === undefined && status !== 204) {
      this.#fail(new Error(`A response has no Content-Length: ${head.slice(0, 200)}`));
      return undefined;
    }
    return { status, bodyAt: end + headEnd.length, length: Number(length ?? 0) };
  }

  #joined(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0]!;
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#awaited?.reject(this.#failure);
    this.#awaited = undefined;
    this.#socket.destroy();
  }
}
