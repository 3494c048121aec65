/** A client over a real socket that reads server-sent events, and one that sends bytes as they are. */
import { type ClientRequest, request } from 'node:http';
import { connect } from 'node:net';
import type { RunEvent } from '@shardlab/contract';

export interface SseEvent<Data> {
  /** NaN if the stream does not number its events. */
  id: number;
  type: string;
  data: Data;
}

export class EventReader<Data = RunEvent> {
  readonly events: SseEvent<Data>[] = [];
  readonly comments: string[] = [];
  status = 0;
  /** Resolves when the stream has ended, also after an error. */
  readonly closed: Promise<void>;
  readonly #request: ClientRequest;
  #rest = '';

  constructor(url: string, lastEventId?: number) {
    const headers = lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) };
    this.#request = request(url, { headers });
    this.closed = new Promise((resolve) => {
      this.#request.on('error', () => resolve());
      this.#request.on('response', (response) => {
        this.status = response.statusCode ?? 0;
        response.setEncoding('utf8').on('data', (text: string) => this.#read(text));
        response.on('close', () => resolve());
      });
    });
    this.#request.end();
  }

  get lastId(): number {
    return this.events.at(-1)?.id ?? 0;
  }

  hangUp(): void {
    this.#request.destroy();
  }

  #read(text: string): void {
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop()!;
    for (const block of blocks) {
      if (block.startsWith(':')) this.comments.push(block);
      else this.events.push(parse(block));
    }
  }
}

function parse<Data>(block: string): SseEvent<Data> {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
  return { id: Number(field('id')), type: field('event')!, data: JSON.parse(field('data')!) };
}

/** Sends bytes over one connection, and resolves with all bytes received once the server has closed it. */
export function sendRaw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.setEncoding('utf8').on('data', (data: string) => {
      answer += data;
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}
