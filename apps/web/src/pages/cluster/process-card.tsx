import type { Cluster, ClusterInstance } from '@shardlab/contract';
import { useMutation } from '@tanstack/react-query';
import { signalInstance, startInstance, stopInstance } from '../../api/queries.ts';
import { backlogOf, type InstanceProcess, type InstanceRates } from '../../model/cluster-state.ts';
import { formatBytes, formatCores, formatCount, formatMs, formatRate } from '../../model/format.ts';
import { ErrorNotice } from '../../parts/query-states.tsx';

export interface ProcessCardProps {
  entry: InstanceProcess;
  placement: Cluster['placement'];
  rates: ReadonlyMap<number, InstanceRates>;
  cores: ReadonlyMap<number, number>;
  /** Only the newest instance can be removed. */
  onRemove: (() => void) | undefined;
}

/**
 * The process of an instance with all instances that it hosts: its own, and those it took over from failed processes.
 */
export function ProcessCard({ entry, placement, rates, cores, onRemove }: ProcessCardProps) {
  const { owner, hosted, usage } = entry;
  const { process } = owner;
  const name = placement === 'local' ? 'The server' : `Process of instance ${owner.instance}`;
  return (
    <article className="panel process" aria-label={name} data-gone={process === null ? '' : undefined}>
      <header className="process-head">
        <h3>{name}</h3>
        <ProcessBadge instance={owner} />
      </header>
      <p className="small muted process-facts">
        {process === null ? (
          describeMissingProcess(owner)
        ) : (
          <>
            pid {process.pid}
            {usage === null ? null : (
              <>
                , {formatCores(cores.get(process.pid) ?? 0)}, {formatBytes(usage.rssBytes)}
              </>
            )}
          </>
        )}
      </p>
      {hosted.map((instance) => (
        <HostedInstance
          key={instance.instance}
          instance={instance}
          rates={rates.get(instance.instance)}
          isFailover={instance.instance !== owner.instance}
        />
      ))}
      {placement === 'local' ? null : <ProcessControls instance={owner} onRemove={onRemove} />}
    </article>
  );
}

function describeMissingProcess({ state, host, leaving, restart }: ClusterInstance): string {
  const status = leaving ? 'Removed' : restart === null ? 'Not running' : describeRestart(restart);
  if (state !== 'failed-over') return `${status}.`;
  const hostName =
    host?.instance == null ? `process ${host?.pid}` : `the process of instance ${host.instance}`;
  return `${status}; ${hostName} hosts its instance.`;
}

function describeRestart({ attempts, inMs, code, message }: NonNullable<ClusterInstance['restart']>): string {
  const next = inMs === null ? `given up after ${attempts} attempts` : `restarts in ${formatMs(inMs)}`;
  return `Exited unexpectedly (${message}, ${code}); ${next}`;
}

const processStates = {
  starting: { label: 'Starting', tone: 'live' },
  running: { label: 'Running', tone: 'good' },
  paused: { label: 'Paused', tone: 'finding' },
  ending: { label: 'Ending', tone: 'quiet' },
} as const;

function ProcessBadge({ instance: { process, restart } }: { instance: ClusterInstance }) {
  const missing = { label: restart?.inMs == null ? 'No process' : 'Restarting', tone: 'bad' } as const;
  const { label, tone } = process === null ? missing : processStates[process.state];
  return (
    <span className="badge" data-tone={tone}>
      {label}
    </span>
  );
}

function HostedInstance(props: {
  instance: ClusterInstance;
  rates: InstanceRates | undefined;
  isFailover: boolean;
}) {
  const { instance, rates, isFailover } = props;
  const { state, leaving, epoch, lease, unready, host } = instance;
  return (
    <section className="hosted" aria-label={`Instance ${instance.instance}`} data-state={state}>
      <div className="process-head">
        <h4>
          Instance {instance.instance} {isFailover ? <span className="tag">failover</span> : null}
          {leaving ? <span className="tag">being removed</span> : null}
        </h4>
        <InstanceBadge instance={instance} isFailover={isFailover} />
      </div>
      {host == null || host.unresponsiveMs === null ? null : (
        <p className="small" role="status">
          Its process is slow: no turn of its event loop for {formatMs(Math.round(host.unresponsiveMs))}.
        </p>
      )}
      {unready === null || state === 'down' || host?.unresponsiveMs != null ? null : (
        <p className="small" role="status">
          It cannot commit: {unready.message} ({unready.code}).
        </p>
      )}
      <dl className="hosted-figures">
        <Figure name="In" value={rates === undefined ? '–' : formatRate(rates.enqueuePerSec)} />
        <Figure name="Out" value={rates === undefined ? '–' : formatRate(rates.dequeuePerSec)} />
        <Figure name="Backlog of all queues" value={formatCount(backlogOf(instance))} />
        <Figure name="Epoch" value={epoch === 0 ? '–' : formatCount(epoch)} />
        <Figure name="Lease ends in" value={lease === null ? '–' : formatMs(Math.round(lease.expiresInMs))} />
      </dl>
    </section>
  );
}

function InstanceBadge(props: { instance: ClusterInstance; isFailover: boolean }) {
  const { instance, isFailover } = props;
  const { state, unready, host } = instance;
  const healthy = isFailover ? 'finding' : 'good';
  const isSlow = state !== 'down' && host?.unresponsiveMs != null;
  return (
    <span className="badge" data-tone={state === 'down' || isSlow || unready !== null ? 'bad' : healthy}>
      {state === 'down' ? 'Down' : isSlow ? 'Slow' : isFailover ? 'Hosted here' : 'Up'}
    </span>
  );
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

type Action = 'kill' | 'pause' | 'resume' | 'stop' | 'start';

const actions: Readonly<
  Record<Action, { label: string; hint: string; call(instance: number): Promise<unknown> }>
> = {
  kill: {
    label: 'Kill',
    hint: 'SIGKILL: ends the process at once, in the middle of its work. It stays down until it is started, or until no other process is left',
    call: (instance) => signalInstance(instance, 'SIGKILL'),
  },
  pause: {
    label: 'Pause',
    hint: 'SIGSTOP: freezes the process; after about a second another one kills it and hosts its instance',
    call: (instance) => signalInstance(instance, 'SIGSTOP'),
  },
  resume: {
    label: 'Resume',
    hint: 'SIGCONT: continues the frozen process',
    call: (instance) => signalInstance(instance, 'SIGCONT'),
  },
  stop: { label: 'Stop', hint: 'Closes the files and exits cleanly', call: stopInstance },
  start: { label: 'Start', hint: 'Starts a new process, which takes its instance back', call: startInstance },
};

function ProcessControls(props: { instance: ClusterInstance; onRemove: (() => void) | undefined }) {
  const { instance, onRemove } = props;
  const act = useMutation({ mutationFn: (action: Action) => actions[action].call(instance.instance) });
  // A signal is sent at once, but its answer may wait for a frozen process. The next signal must not wait for it.
  const isBusy = act.isPending && (act.variables === 'start' || act.variables === 'stop');
  return (
    <>
      <div className="row process-controls">
        {actionsOf(instance).map((action) => (
          <button
            key={action}
            type="button"
            className={action === 'kill' ? 'button button-danger' : 'button'}
            aria-label={`${actions[action].label} the process of instance ${instance.instance}`}
            title={actions[action].hint}
            disabled={isBusy}
            onClick={() => act.mutate(action)}
          >
            {actions[action].label}
          </button>
        ))}
        {onRemove === undefined ? null : (
          <button
            type="button"
            className="button"
            aria-label={`Remove instance ${instance.instance}`}
            title="It accepts no new messages and stays available until it is empty"
            onClick={onRemove}
          >
            Remove
          </button>
        )}
      </div>
      {act.error === null ? null : <ErrorNotice error={act.error} />}
    </>
  );
}

function actionsOf({ process, leaving, restart }: ClusterInstance): Action[] {
  if (process === null && leaving) return [];
  if (process === null) return restart?.inMs == null ? ['start'] : ['start', 'stop'];
  if (process.state === 'paused') return ['resume', 'kill'];
  return process.state === 'ending' ? ['kill'] : ['kill', 'pause', 'stop'];
}
