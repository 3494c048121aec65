import type { ClusterEvent, ClusterLoad } from '@shardlab/contract';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { startLoad, stopLoad } from '../../api/queries.ts';
import { formatCount, formatMs } from '../../model/format.ts';
import { loadVerdict } from '../../model/load-verdict.ts';
import { Choice } from '../../parts/choice.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { Switch } from '../../parts/switch.tsx';
import { LoadChart } from './load-chart.tsx';

const durationMs = 120_000;
const rates = ['100', '500', '2000'] as const;
type Rate = (typeof rates)[number];

/** Starts and stops a load on the cluster, and shows its counts. */
export function LoadPanel(props: {
  load: ClusterLoad | null;
  events: readonly ClusterEvent[];
  /** Whether there are processes below, which can be killed. */
  hasProcesses: boolean;
}) {
  const { load, events, hasProcesses } = props;
  const [rate, setRate] = useState<Rate>('500');
  const isOn = load !== null && load.state === 'running';
  const toggle = useMutation({
    mutationFn: (on: boolean) => (on ? startLoad({ durationMs, ratePerSec: Number(rate) }) : stopLoad()),
  });
  return (
    <section className="section" aria-labelledby="load">
      <div className="section-head">
        <h2 id="load">Load</h2>
        <div className="row">
          {load === null || load.state === 'done' ? (
            <Choice<Rate>
              label="Messages per second"
              value={rate}
              options={rates.map((value) => ({ value, label: formatCount(Number(value)) }))}
              onChange={setRate}
            />
          ) : (
            <span className="small muted">{formatCount(load.ratePerSec)} messages per second</span>
          )}
          <Switch
            label="Load"
            isOn={isOn}
            disabled={toggle.isPending || load?.state === 'draining'}
            onChange={(on) => toggle.mutate(on)}
          >
            {load?.state === 'draining' ? 'Load draining' : isOn ? 'Load on' : 'Load off'}
          </Switch>
        </div>
      </div>
      {toggle.error === null ? null : <ErrorNotice error={toggle.error} />}
      {load?.error == null ? null : (
        <p className="notice" data-tone="bad" role="alert">
          The load stopped early: {load.error.message} ({load.error.code}).
        </p>
      )}
      {load === null ? (
        <p className="muted">
          Sessions of this server enqueue and consume durable messages on a separate queue, and every message
          is tracked. {hasProcesses ? 'Switch the load on, then kill a process below. ' : ''}It stops by
          itself after two minutes.
        </p>
      ) : (
        <>
          <LoadTotals load={load} />
          <LoadChart load={load} events={events} />
        </>
      )}
    </section>
  );
}

function LoadTotals({ load }: { load: ClusterLoad }) {
  const { acknowledged, consumed, duplicated, lost, left, outcomeUnknown, slowestCommitMs } = load;
  const verdict = loadVerdict(load);
  return (
    <div className="panel load-totals">
      <dl className="figures">
        <Figure name="Acknowledged" value={formatCount(acknowledged)} />
        <Figure name="Consumed" value={formatCount(consumed)} />
        <Figure name="In the queue" value={formatCount(left ?? Math.max(0, acknowledged - consumed))} />
        <Figure name="Lost" value={lost === null ? '–' : formatCount(lost)} isBad={(lost ?? 0) > 0} />
        <Figure name="Duplicated" value={formatCount(duplicated)} isBad={duplicated > 0} />
        <Figure name="Slowest commit" value={formatMs(slowestCommitMs)} />
        {outcomeUnknown === 0 ? null : <Figure name="Unknown outcome" value={formatCount(outcomeUnknown)} />}
      </dl>
      <p className={verdict === null ? 'small muted' : undefined} role="status">
        {verdict ?? 'Losses can be counted once the load has stopped and the queue is drained.'}
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
