/**
 * A TCP proxy in front of one direction of a route between two servers. Cutting it is what a broken network looks like to
 * both: the connection ends, and new ones are refused.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

export class RouteProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Listens on a free port of the loopback interface and forwards to `targetPort`. */
  static async open(targetPort: () => number): Promise<RouteProxy> {
    const server = createServer();
    const proxy = new RouteProxy(server);
    server.on('connection', (inbound) => proxy.#join(inbound, targetPort()));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  #join(inbound: Socket, port: number): void {
    if (this.#isCut) {
      inbound.destroy();
      return;
    }
    const outbound = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [inbound, outbound],
      [outbound, inbound],
    ] as const) {
      this.#sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  heal(): void {
    this.#isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
