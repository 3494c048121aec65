/** The server's connections: how many a client may have, and how they end when the server does. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { FairShares, shareWeights } from '../fair-shares.ts';
import { clientOf } from './client-address.ts';

/**
 * Limits each client to its fair share of `max` connections. Further ones are closed without a response, since they have sent
 * no request yet.
 */
export function shareConnections(server: Server, max: number): void {
  const shares = new FairShares<'client'>(max, shareWeights);
  server.on('connection', (socket: Socket) => {
    const release = shares.take({ client: clientOf(socket) });
    if (typeof release === 'function') socket.once('close', release);
    else socket.destroy();
  });
}

/** Closes the connections that are still open after `graceMs`, whatever their clients are sending or not reading. */
export function endConnections(server: Server, graceMs: number): void {
  const timer = setTimeout(() => server.closeAllConnections(), graceMs).unref();
  server.once('close', () => clearTimeout(timer));
}
