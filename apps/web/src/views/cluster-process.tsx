import type { Cluster, ClusterInstance } from '@shardlab/contract';
import { useMutation } from '@tanstack/react-query';
import { signalInstance, startInstance, stopInstance } from '../api/queries.ts';
import { backlogOf, type InstanceRates, type ProcessPlace } from '../model/cluster-state.ts';
import { formatBytes, formatCores, formatCount, formatMs, formatRate } from '../model/format.ts';
import { Failure } from './page-states.tsx';

export interface ClusterProcessProps {
  place: ProcessPlace;
  placement: Cluster['placement'];
  rates: ReadonlyMap<number, InstanceRates>;
  cores: ReadonlyMap<number, number>;
  /** Only the newest instance can be removed. */
  onRemove: (() => void) | undefined;
}

/** The process of an instance and all that it hosts: its own instance, and guests of processes that are gone. */
export function ClusterProcess({ place, placement, rates, cores, onRemove }: ClusterProcessProps) {
  const { instance, hosted, figures } = place;
  const { process } = instance;
  const name = placement === 'inline' ? 'The server' : `Process of instance ${instance.instance}`;
  return (
    <article className="panel process" aria-label={name} data-gone={process === null ? '' : undefined}>
      <header className="process-head">
        <h3>{name}</h3>
        <ProcessBadge process={process} />
      </header>
      <p className="small muted process-facts">
        {process === null ? (
          noProcess(instance)
        ) : (
          <>
            pid {process.pid}
            {figures === null ? null : (
              <>
                , {formatCores(cores.get(process.pid) ?? 0)}, {formatBytes(figures.rssBytes)}
              </>
            )}
          </>
        )}
      </p>
      {hosted.map((each) => (
        <HostedInstance
          key={each.instance}
          instance={each}
          rates={rates.get(each.instance)}
          isGuest={each.instance !== instance.instance}
        />
      ))}
      {placement === 'inline' ? null : <ProcessControls instance={instance} onRemove={onRemove} />}
    </article>
  );
}

function noProcess({ state, host, leaving }: ClusterInstance): string {
  const gone = leaving ? 'It was removed' : 'It is gone';
  if (state !== 'hosted') return `${gone}.`;
  const where = host?.instance == null ? `process ${host?.pid}` : `the process of instance ${host.instance}`;
  return `${gone}; ${where} hosts its instance.`;
}

const processStates = {
  starting: { label: 'Starting', tone: 'live' },
  running: { label: 'Running', tone: 'good' },
  paused: { label: 'Paused', tone: 'finding' },
  ending: { label: 'Ending', tone: 'quiet' },
} as const;

function ProcessBadge({ process }: { process: ClusterInstance['process'] }) {
  const { label, tone } =
    process === null ? ({ label: 'No process', tone: 'bad' } as const) : processStates[process.state];
  return (
    <span className="badge" data-tone={tone}>
      {label}
    </span>
  );
}

function HostedInstance(props: {
  instance: ClusterInstance;
  rates: InstanceRates | undefined;
  isGuest: boolean;
}) {
  const { instance, rates, isGuest } = props;
  const { state, leaving, epoch, lease } = instance;
  return (
    <section className="hosted" aria-label={`Instance ${instance.instance}`} data-state={state}>
      <div className="process-head">
        <h4>
          Instance {instance.instance} {isGuest ? <span className="tag">guest</span> : null}
          {leaving ? <span className="tag">leaving</span> : null}
        </h4>
        <span className="badge" data-tone={state === 'down' ? 'bad' : isGuest ? 'finding' : 'good'}>
          {state === 'down' ? 'Down' : isGuest ? 'Hosted here' : 'Up'}
        </span>
      </div>
      <dl className="hosted-figures">
        <Figure name="In" value={rates === undefined ? '–' : formatRate(rates.enqueuePerSec)} />
        <Figure name="Out" value={rates === undefined ? '–' : formatRate(rates.dequeuePerSec)} />
        <Figure name="Backlog" value={formatCount(backlogOf(instance))} />
        <Figure name="Epoch" value={epoch === 0 ? '–' : formatCount(epoch)} />
        <Figure name="Lease left" value={lease === null ? '–' : formatMs(Math.round(lease.expiresInMs))} />
      </dl>
    </section>
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
    hint: 'SIGKILL: it is gone at once, with whatever it was at',
    call: (instance) => signalInstance(instance, 'SIGKILL'),
  },
  pause: {
    label: 'Pause',
    hint: 'SIGSTOP: it stands still, and loses its lease within a second',
    call: (instance) => signalInstance(instance, 'SIGSTOP'),
  },
  resume: {
    label: 'Resume',
    hint: 'SIGCONT: it goes on where it stood',
    call: (instance) => signalInstance(instance, 'SIGCONT'),
  },
  stop: { label: 'Stop', hint: 'It closes its files in order and ends', call: stopInstance },
  start: { label: 'Start', hint: 'A new process, which gets its instance back', call: startInstance },
};

function ProcessControls(props: { instance: ClusterInstance; onRemove: (() => void) | undefined }) {
  const { instance, onRemove } = props;
  const act = useMutation({ mutationFn: (action: Action) => actions[action].call(instance.instance) });
  // A signal is sent at once; its answer may wait for a process that stands still, and must not hold up the next signal.
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
            title="It takes no messages any more, and is served until it is empty"
            onClick={onRemove}
          >
            Remove
          </button>
        )}
      </div>
      {act.error === null ? null : <Failure error={act.error} />}
    </>
  );
}

function actionsOf({ process, leaving }: ClusterInstance): Action[] {
  if (process === null) return leaving ? [] : ['start'];
  if (process.state === 'paused') return ['resume', 'kill'];
  return process.state === 'ending' ? ['kill'] : ['kill', 'pause', 'stop'];
}
