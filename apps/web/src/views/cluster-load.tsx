import type { ClusterEvent, ClusterLoad } from '@shardlab/contract';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { startLoad, stopLoad } from '../api/queries.ts';
import { formatCount, formatMs } from '../model/format.ts';
import { loadVerdict } from '../model/load-verdict.ts';
import { Choice } from './choice.tsx';
import { LoadChart } from './load-chart.tsx';
import { Failure } from './page-states.tsx';
import { Switch } from './switch.tsx';

const durationMs = 120_000;
const rates = ['100', '500', '2000'] as const;
type Rate = (typeof rates)[number];

/** A switch for the load, and the book that it keeps. */
export function ClusterLoadPanel({
  load,
  events,
}: {
  load: ClusterLoad | null;
  events: readonly ClusterEvent[];
}) {
  const [rate, setRate] = useState<Rate>('500');
  const isOn = load !== null && load.state === 'running';
  const flip = useMutation({
    mutationFn: (on: boolean) => (on ? startLoad({ durationMs, ratePerSec: Number(rate) }) : stopLoad()),
  });
  return (
    <section className="section" aria-labelledby="load">
      <div className="section-head">
        <h2 id="load">Load</h2>
        <div className="row">
          {load === null || load.state === 'done' ? (
            <Choice<Rate>
              label="Messages a second"
              value={rate}
              options={rates.map((value) => ({ value, label: formatCount(Number(value)) }))}
              onChange={setRate}
            />
          ) : (
            <span className="small muted">{formatCount(load.ratePerSec)} messages a second</span>
          )}
          <Switch
            label="Load"
            isOn={isOn}
            disabled={flip.isPending || load?.state === 'draining'}
            onChange={(on) => flip.mutate(on)}
          >
            {load?.state === 'draining' ? 'Draining' : isOn ? 'On' : 'Off'}
          </Switch>
        </div>
      </div>
      {flip.error === null ? null : <Failure error={flip.error} />}
      {load?.error == null ? null : (
        <p className="notice" data-tone="bad" role="alert">
          The load ended early: {load.error.message} ({load.error.code}).
        </p>
      )}
      {load === null ? (
        <p className="muted">
          Sessions enqueue and consume durable messages through this server, on a queue of their own, and keep
          book of each one. Switch it on, then kill a process below. It ends by itself after two minutes.
        </p>
      ) : (
        <>
          <LoadBook load={load} />
          <LoadChart load={load} events={events} />
        </>
      )}
    </section>
  );
}

function LoadBook({ load }: { load: ClusterLoad }) {
  const { acknowledged, consumed, doubled, lost, left, unknown, slowestCommitMs } = load;
  const verdict = loadVerdict(load);
  return (
    <div className="panel load-book">
      <dl className="figures">
        <Figure name="Acknowledged" value={formatCount(acknowledged)} />
        <Figure name="Consumed" value={formatCount(consumed)} />
        <Figure name="In the queue" value={formatCount(left ?? Math.max(0, acknowledged - consumed))} />
        <Figure name="Lost" value={lost === null ? '–' : formatCount(lost)} isBad={(lost ?? 0) > 0} />
        <Figure name="Doubled" value={formatCount(doubled)} isBad={doubled > 0} />
        <Figure name="Slowest commit" value={formatMs(slowestCommitMs)} />
        {unknown === 0 ? null : <Figure name="Unknown outcome" value={formatCount(unknown)} />}
      </dl>
      <p className={verdict === null ? 'small muted' : undefined} role="status">
        {verdict ?? 'What is lost is known when the load has ended and the queue is drained.'}
      </p>
    </div>
  );
}

function Figure({ name, value, isBad = false }: { name: string; value: string; isBad?: boolean }) {
  return (
    <div>
      <dt className="figure-name">{name}</dt>
      <dd className="figure-value" data-bad={isBad ? '' : undefined}>
        {value}
      </dd>
    </div>
  );
}
