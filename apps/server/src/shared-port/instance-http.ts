/**
 * HTTP in the process of an instance, which `ConnectionMover` gives connections of the server's port: calls that move messages
 * are answered here, by sessions in this process where its own instance has to do with them; all others are passed on to the
 * server.
 */
import { rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { connectCluster, type Json, type ProcessExtension, type ProcessHost } from '@shardlab/engine';
import { createHttp } from '../create-http.ts';
import { BrowserSessions } from '../http/browser-sessions.ts';
import { endConnections } from '../http/connections.ts';
import { createPathHider } from '../http/private-paths.ts';
import { describeRefusals } from '../http/refusals.ts';
import { limits } from '../limits.ts';
import { HostedQueues } from '../queues/hosted-queues.ts';
import { QueueService } from '../queues/queue-service.ts';
import { messageRoutes } from '../routes/message-routes.ts';
import { instanceHttpPath, readIntroduction, serverSocketPath } from './introduction.ts';
import { isLetIn, passOn } from './pass-on.ts';
import { isQueueCall } from './queue-calls.ts';
import { takeListener } from './take-listener.ts';

/** Options that the server passes to the processes of its instances. */
export interface InstanceHttpOptions {
  /** Whether a key is needed. The server knows it. */
  keyed: boolean;
  /** One of pino's levels. */
  logLevel: string;
}

export async function createExtension(host: ProcessHost, options: Json): Promise<ProcessExtension> {
  const { keyed, logLevel } = options as unknown as InstanceHttpOptions;
  const client = connectCluster({ dir: host.dir });
  const closing = new AbortController();
  const { app, admission } = createHttp({
    logger: { level: logLevel, stream: process.stderr },
    tls: null, // the server has decrypted it
    hidePaths: createPathHider(host.dir),
    // Only requests that the server has let in get as far as that.
    keyCheck: keyed ? { assertRight: () => undefined } : null,
    sessions: new BrowserSessions({ secure: false, nowMs: () => performance.now() }),
    bodyPace: limits.bodyPace,
    closing: closing.signal,
  });
  describeRefusals(app);
  const queues = new QueueService({ queues: new HostedQueues(host, client) });
  messageRoutes(app, { queues, admission, closing: closing.signal });
  app.addHook('preClose', async () => {
    closing.abort();
    endConnections(app.server, limits.closeGraceMs);
  });
  const answerConnection = takeListener<[Socket]>(app.server, 'connection');
  app.server.on('connection', (socket: Socket) => {
    readIntroduction(socket, {
      onClient: () => {
        answerConnection(socket);
        socket.resume();
      },
      onClosing: () => void close(),
    });
  });
  const answerHere = takeListener<[IncomingMessage, ServerResponse]>(app.server, 'request');
  const serverPath = serverSocketPath(host.dir);
  const letIn = new WeakMap<Socket, string>();
  app.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!isQueueCall(request)) passOn(request, response, serverPath);
    else if (!keyed) answerHere(request, response);
    else void answerWithKey(request, response);
  });

  async function answerWithKey(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    const { authorization } = request.headers;
    if (authorization !== undefined && letIn.get(socket) !== authorization) {
      if (await isLetIn(request, serverPath)) letIn.set(socket, authorization);
    }
    if (authorization !== undefined && letIn.get(socket) === authorization) answerHere(request, response);
    else passOn(request, response, serverPath);
  }

  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= app.close().then(() => client.close());
    return closed;
  };
  const path = instanceHttpPath(host.dir, host.instance);
  rmSync(path, { force: true }); // of a process that was killed
  await app.listen({ path });
  return { close };
}
