/**
 * The process of an instance: hosts it, serves it on its socket, and stands in for other processes of the cluster. Started
 * by `instance-child.ts`, ended by it or with it. If its own instance fails or is fenced, the process ends: another one
 * recovers.
 */
import { QueueError } from '../../core/errors.ts';
import { ClusterMember } from '../cluster-member.ts';
import { serveInstance } from '../remote/serve-instance.ts';
import type { ProcessStats } from './cluster.ts';
import type { FromProcess, ProcessOptions, ToProcess } from './process-messages.ts';

/** The supervisor is gone: files are closed in order if that is quick. */
const partingMs = 2_000;

let member: ClusterMember | undefined;
let closing = false;

function send(message: FromProcess): void {
  // The supervisor may be gone already; then so is everybody who could read this.
  if (process.connected) process.send?.(message);
}

async function open(options: ProcessOptions): Promise<void> {
  member = await ClusterMember.join({
    ...options,
    serve: (instance) => serveInstance(instance),
    onEvent: (event) => {
      send({ type: 'event', event });
      const failed = event.type === 'instance:failed' || event.type === 'instance:fenced';
      if (failed && event.instance === options.instance) end(1);
    },
  });
  send({ type: 'opened' });
}

/** At the end of this turn: what was just sent to the supervisor is on its way by then. */
function end(exitCode: number): void {
  setImmediate(() => process.exit(exitCode));
}

async function close(): Promise<void> {
  if (closing) return;
  closing = true;
  await member?.leave();
  end(0);
}

function stats({ instance, instances }: ClusterMember): ProcessStats {
  const { user, system } = process.cpuUsage();
  const hosted = instances.flatMap((each) => {
    try {
      return [{ stats: each.stats(), waits: each.waits.snapshot().filter(({ waits }) => waits > 0) }];
    } catch {
      return []; // it is ending
    }
  });
  return { instance, pid: process.pid, cpuUs: user + system, rssBytes: process.memoryUsage.rss(), hosted };
}

async function obey(message: ToProcess): Promise<void> {
  switch (message.type) {
    case 'open':
      return open(message.options);
    case 'watch':
      return member?.watch();
    case 'retire':
      member?.retire();
      return send({ type: 'retired' });
    case 'close':
      return close();
    case 'stats':
      if (member === undefined) return;
      return send({ type: 'stats', request: message.request, stats: stats(member) });
  }
}

function fail(error: unknown): void {
  const { code, message, details } =
    error instanceof QueueError ? error : new QueueError('INSTANCE_FAILED', { sentence: String(error) });
  send({ type: 'failed', code, message, details: { ...details } });
  end(1);
}

process.on('message', (message: ToProcess) => void obey(message).catch(fail));
process.on('disconnect', () => {
  setTimeout(() => process.exit(0), partingMs);
  void close();
});
// A terminal sends its interrupt to all of the group: the supervisor says what becomes of it.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => void close());
