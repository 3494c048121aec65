/** A proxy between a client and the process that serves an instance, which loses data as the test decides. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { makeFolder } from '../folder.ts';

export interface UnreliableLink {
  readonly path: string;
  /** Withholds what clients send from now on, until `deliver`. */
  holdRequests(): void;
  /** Drops the answers of the instance from now on, on the present connections. */
  loseAnswers(): void;
  /** Resolves when a request was withheld or an answer dropped. */
  lost(): Promise<void>;
  /** Sends the clients bytes that are no frame. */
  corrupt(): void;
  /** Cuts the clients off. Their withheld requests can still be delivered. */
  cut(): void;
  /** Delivers the withheld requests. */
  deliver(): void;
}

interface Pair {
  client: Socket;
  server: Socket;
  kept: Buffer[];
  holding: boolean;
  losing: boolean;
}

export async function makeUnreliableLink(target: string): Promise<UnreliableLink> {
  const path = join(makeFolder(), 'link.sock');
  const pairs = new Set<Pair>();
  let onLost: (() => void)[] = [];
  let anyLost = false;
  const noteLoss = () => {
    anyLost = true;
    for (const resolve of onLost) resolve();
    onLost = [];
  };
  const proxy = createServer((client) => {
    const pair: Pair = { client, server: connect(target), kept: [], holding: false, losing: false };
    pairs.add(pair);
    client.on('data', (chunk: Buffer) => {
      if (pair.holding) {
        pair.kept.push(chunk);
        noteLoss();
      } else pair.server.write(chunk);
    });
    pair.server.on('data', (chunk: Buffer) => {
      if (pair.losing) noteLoss();
      else if (!client.destroyed) client.write(chunk);
    });
    for (const socket of [client, pair.server]) socket.on('error', () => undefined);
    client.on('close', () => {
      if (!pair.holding && !pair.losing) pair.server.destroy();
    });
    pair.server.on('close', () => client.destroy());
  });
  proxy.listen(path);
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.close();
    for (const { client, server } of pairs) for (const socket of [client, server]) socket.destroy();
  });
  return {
    path,
    holdRequests: () => {
      for (const pair of pairs) pair.holding = true;
    },
    loseAnswers: () => {
      for (const pair of pairs) pair.losing = true;
    },
    lost: () => (anyLost ? Promise.resolve() : new Promise<void>((resolve) => onLost.push(resolve))),
    corrupt: () => {
      for (const { client } of pairs) client.write(Buffer.alloc(4));
    },
    cut: () => {
      for (const { client } of pairs) client.destroy();
    },
    deliver: () => {
      for (const pair of pairs) for (const chunk of pair.kept.splice(0)) pair.server.write(chunk);
    },
  };
}
