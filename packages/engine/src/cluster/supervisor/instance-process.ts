/**
 * The process of an instance: hosts it, serves it on its socket, and takes part in failover. `instance-child.ts` starts it;
 * it ends with its supervisor. If its own instance fails or is fenced, the process ends, and another one recovers it.
 */
import { QueueError } from '../../api/errors.ts';
import { HeartbeatThread } from '../../storage/threads/heartbeat.ts';
import type { ProcessExtension, ProcessStats } from '../cluster.ts';
import { ClusterMember } from '../cluster-member.ts';
import { importExtension } from '../import-extension.ts';
import { nodeClusterPorts } from '../node-cluster-ports.ts';
import { serveInstance } from '../serve-instance-with-peers.ts';
import type {
  InstanceProcessMessage,
  InstanceProcessOptions,
  SupervisorMessage,
} from './process-messages.ts';

/** How long an orphaned process may take to close its files after its supervisor is gone, milliseconds. */
const orphanCloseMsMax = 2_000;

let member: ClusterMember | undefined;
let extension: Promise<ProcessExtension> | undefined;
let closing = false;

function send(message: InstanceProcessMessage): void {
  // Nobody reads the message if the supervisor is gone.
  if (process.connected) process.send?.(message);
}

async function open({ extension: spec, ...options }: InstanceProcessOptions): Promise<void> {
  const { dir, instance } = options;
  // Before all else: what follows may keep this thread busy for long.
  const { timers, processes } = nodeClusterPorts;
  const heartbeat = new HeartbeatThread({ dir, instance, pid: processes.self.pid }, timers);
  const createExtension = spec && (await importExtension(spec));
  const joined = await ClusterMember.join({
    ...options,
    heartbeat,
    ports: nodeClusterPorts,
    serve: (instance) => serveInstance(instance),
    onEvent: (event) => {
      send({ type: 'event', event });
      const failed = event.type === 'instance:failed' || event.type === 'instance:fenced';
      if (failed && event.instance === options.instance) exitSoon(1);
    },
  });
  member = joined;
  extension = createExtension?.({ dir, instance, hosted: () => joined.acceptingInstances });
  await extension;
  send({ type: 'opened' });
}

/** Exits after this turn of the event loop, when the messages to the supervisor have been sent. */
function exitSoon(exitCode: number): void {
  nodeClusterPorts.timers.nextTurn(() => process.exit(exitCode));
}

async function close(): Promise<void> {
  if (closing) return;
  closing = true;
  await (await extension)?.close();
  await member?.leave();
  exitSoon(0);
}

function stats({ instance, instances }: ClusterMember): ProcessStats {
  const hosted = instances.flatMap((hosted) => {
    try {
      return [{ stats: hosted.stats(), waits: hosted.waits.snapshot().filter(({ waits }) => waits > 0) }];
    } catch {
      return []; // the instance is closing
    }
  });
  return {
    instance,
    pid: nodeClusterPorts.processes.self.pid,
    ...nodeClusterPorts.processes.usage(),
    hosted,
  };
}

async function handleMessage(message: SupervisorMessage): Promise<void> {
  switch (message.type) {
    case 'open':
      return open(message.options);
    case 'start-failover':
      return member?.startFailover();
    case 'stop-failover':
      member?.stopFailover();
      return send({ type: 'failover-stopped' });
    case 'close':
      return close();
    case 'stats':
      if (member === undefined) return;
      return send({ type: 'stats', request: message.request, stats: stats(member) });
  }
}

function reportFailure(error: unknown): void {
  const { code, message, details } =
    error instanceof QueueError ? error : new QueueError('INSTANCE_FAILED', { message: String(error) });
  send({ type: 'failed', code, message, details: { ...details } });
  exitSoon(1);
}

process.on('message', (message: SupervisorMessage) => void handleMessage(message).catch(reportFailure));
process.on('disconnect', () => {
  nodeClusterPorts.timers.deadline(orphanCloseMsMax, () => process.exit(0));
  void close();
});
// A terminal sends its interrupt to the whole process group; the supervisor decides what happens.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => void close());
