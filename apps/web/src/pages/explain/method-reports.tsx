import { formatCount, formatMs, formatRate, formatSessions, formatValue } from '../../model/format.ts';
import type { MethodReport, methodReports, ReportedEvent } from '../../model/method-report.ts';
import { ScrollX } from '../../parts/scroll-x.tsx';

const titles: Readonly<Record<MethodReport['method'], string>> = {
  listen: 'Listen',
  subscriber: 'Dequeue by subscriber',
};

/** Both ways to dequeue, each with its top events and those of the document's report. */
export function MethodReports({ reports }: { reports: ReturnType<typeof methodReports> }) {
  const [first] = reports;
  if (first === undefined) return null;
  return (
    <section className="section" aria-labelledby="methods">
      <div className="section-head">
        <h2 id="methods">
          Top events, {first.pairs} + {first.pairs} sessions
        </h2>
        <p className="small muted">In the manner of an AWR report</p>
      </div>
      <div className="split split-even">
        {first.reports.map((report) => (
          <article key={report.method} className="panel explain-panel" aria-label={titles[report.method]}>
            <h3>{titles[report.method]}</h3>
            <p className="small muted">
              {formatRate(report.messagesPerSec)}, {formatSessions(report.coresBusy)} cores busy
            </p>
            <EventTable
              events={report.events}
              label={`${titles[report.method]}: top events here`}
              caption="Here"
            />
            {report.document.length === 0 ? null : (
              <EventTable
                events={report.document}
                label={`${titles[report.method]}: top events in the document`}
                caption="In the document: 80 + 80 sessions, ten minutes"
              />
            )}
          </article>
        ))}
      </div>
    </section>
  );
}

function EventTable({
  events,
  label,
  caption,
}: {
  events: readonly ReportedEvent[];
  label: string;
  caption: string;
}) {
  return (
    <ScrollX label={label}>
      <table className="table">
        <caption className="small muted">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col" className="number">
              Waits
            </th>
            <th scope="col" className="number">
              Total
            </th>
            <th scope="col" className="number">
              Mean
            </th>
            <th scope="col" className="number">
              Share of time
            </th>
          </tr>
        </thead>
        <tbody>
          {events.map(({ event, waits, seconds, share }) => (
            <tr key={event}>
              <th scope="row" className="event-oracle">
                {event}
              </th>
              <td className="number">{waits === null ? '–' : formatCount(waits)}</td>
              <td className="number">{formatMs(seconds * 1_000)}</td>
              <td className="number">
                {waits === null || waits === 0 ? '–' : formatMs((seconds * 1_000) / waits)}
              </td>
              <td className="number">{formatValue(share * 100)} %</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}
