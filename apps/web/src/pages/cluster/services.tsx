import type { ClusterEvent, ServiceState } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { servicesQuery } from '../../api/queries.ts';
import { toneColor } from '../../charts/swimlane-chart.ts';
import { formatMs, formatTimeOfDay, plural } from '../../model/format.ts';
import { liveProvenance } from '../../model/provenance.ts';
import { type ServiceHistory, serviceHistory } from '../../model/service-history.ts';
import { LaneChart } from '../../parts/lane-chart.tsx';

/** The singleton services of the cluster: who has each, and who had it when. Nothing where none is configured. */
export function Services({ events, nowMs }: { events: readonly ClusterEvent[]; nowMs: number }) {
  const { data } = useQuery(servicesQuery);
  if (data === undefined || data.services.length === 0) return null;
  return (
    <section className="section" aria-labelledby="services">
      <h2 id="services">Singleton services</h2>
      <p className="small muted">
        Each is active in one process at a time: that of its preferred instance, or the one that has taken
        that over. They are named when the server starts.
      </p>
      {data.services.map((service) => (
        <Service key={service.name} service={service} events={events} nowMs={nowMs} />
      ))}
    </section>
  );
}

function Service(props: { service: ServiceState; events: readonly ClusterEvent[]; nowMs: number }) {
  const { service, events, nowMs } = props;
  const history = useMemo(() => serviceHistory(service, { events, nowMs }), [service, events, nowMs]);
  const { name, preferred, status, holder, epoch, failure, calls } = service;
  return (
    <article className="panel service" aria-label={`Service ${name}`}>
      <header className="process-head">
        <h3>{name}</h3>
        <span className="badge" data-tone={tones[status]}>
          {status}
        </span>
      </header>
      <dl className="service-facts">
        <Fact
          name="Owner"
          value={holder === null ? 'nobody' : `instance ${holder.instance}, pid ${holder.pid}`}
        />
        <Fact name="Preferred" value={`instance ${preferred}`} />
        <Fact name="Epoch" value={epoch === null ? '–' : String(epoch)} />
        <Fact name="Activations" value={String(service.history.at(-1)?.number ?? 0)} />
        <Fact name="Longest gap" value={history === null ? '–' : formatMs(history.longestGapMs)} />
        <Fact name="Calls" value={calls.length === 0 ? 'none' : calls.join(', ')} />
      </dl>
      {failure === null ? null : (
        <p className="notice" data-tone="bad">
          It failed last with {failure.code}: {failure.message}
        </p>
      )}
      {history === null ? null : <Owners name={name} history={history} nowMs={nowMs} />}
    </article>
  );
}

const tones: Readonly<Record<ServiceState['status'], string>> = {
  active: 'good',
  activating: 'live',
  deactivating: 'live',
  failed: 'bad',
  inactive: 'quiet',
  unreachable: 'bad',
};

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt className="figure-name">{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

const legend = [
  { label: 'has the service', color: toneColor.holds },
  { label: 'no owner', color: toneColor.gap, opacity: 0.75 },
  { label: 'an activation ended', color: toneColor.bad },
];

function Owners(props: { name: string; history: ServiceHistory; nowMs: number }) {
  const { name, history, nowMs } = props;
  const { fromMs, lanes, activations, gaps, longestGapMs } = history;
  // To the millisecond where the cursor is, to the second on the axis.
  const timeAt = (time: number) => formatTimeOfDay(fromMs + time);
  const format = (time: number) => timeAt(time).slice(0, 8);
  const wordsAt = (time: number): string => {
    const owner = lanes.find(({ spans }) =>
      spans.some(({ tone, from, to }) => tone === 'holds' && from <= time && time < to),
    );
    const span = owner?.spans.find(({ from, to }) => from <= time && time < to);
    return `${timeAt(time)}: ${owner === undefined ? 'no owner' : `${owner.label}, ${span?.name}`}`;
  };
  const gapWords = gaps === 0 ? 'no gap' : `${plural(gaps, 'gap')}, the longest ${formatMs(longestGapMs)}`;
  return (
    <LaneChart
      provenance={liveProvenance(`service ${name}`, { host: window.location.host, atMs: nowMs })}
      lanes={lanes}
      title={`Owners of ${name}`}
      unit="time of day; a bar for each activation, named by its epoch"
      timeUnit="ms"
      fileName={`service-${name}-owners`}
      legend={legend}
      words={`${plural(activations, 'activation')} shown; ${gapWords}.`}
      wordsAt={wordsAt}
      format={format}
    />
  );
}
