/** A TCP proxy that can drop the server's answers: to the client the server seems silent, although it executes the requests. */
import { connect, createServer, type Socket } from 'node:net';

export interface LossyProxy {
  url: string;
  /** Drops all answers on present connections from now on. */
  swallowAnswers(): void;
  /** Ends the connections. New ones work unless `forGood`. */
  cut(options?: { forGood: boolean }): void;
  close(): Promise<void>;
}

export async function openLossyProxy(targetUrl: string): Promise<LossyProxy> {
  const target = Number(new URL(targetUrl).port);
  const sockets = new Set<Socket>();
  let generation = 0;
  let swallowed = -1;
  let isRefusing = false;
  const server = createServer((client) => {
    if (isRefusing) {
      client.destroy();
      return;
    }
    const own = generation;
    const upstream = connect(target, '127.0.0.1');
    client.pipe(upstream);
    upstream.on('data', (chunk) => {
      if (swallowed < own) client.write(chunk);
    });
    for (const [socket, peer] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => peer.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        peer.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = ({ forGood } = { forGood: false }) => {
    isRefusing = forGood;
    generation += 1;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `nats://127.0.0.1:${(server.address() as { port: number }).port}`,
    swallowAnswers: () => {
      swallowed = generation;
    },
    cut,
    close: async () => {
      cut({ forGood: true });
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
