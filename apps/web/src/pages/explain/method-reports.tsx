import { formatCount, formatMs, formatRate, formatSessions, formatValue } from '../../model/format.ts';
import type { MethodReport, MethodReports, ReportedEvent } from '../../model/method-report.ts';
import { ScrollX } from '../../parts/scroll-x.tsx';

const titles: Readonly<Record<MethodReport['method'], string>> = {
  listen: 'Listen',
  subscriber: 'Dequeue by subscriber',
};

/** Both ways to dequeue, each with its top events and those of the document's report. */
export function MethodReportsSection({ pairs, copies, reports }: MethodReports) {
  return (
    <section className="section" aria-labelledby="methods">
      <div className="section-head">
        <h2 id="methods">
          Top events, {pairs} + {pairs} sessions{copies > 1 ? `, ${copies} copies` : ''}
        </h2>
        <p className="small muted">In the manner of an AWR report; {shareOf(reports)}</p>
      </div>
      <div className="split split-even">
        {reports.map((report) => (
          <article key={report.method} className="panel explain-panel" aria-label={titles[report.method]}>
            <h3>{titles[report.method]}</h3>
            <p className="small muted">
              {formatRate(report.messagesPerSec)}
              {report.coresBusy === null ? '' : `, ${formatSessions(report.coresBusy)} cores busy`}
            </p>
            <EventTable
              events={report.events}
              label={`${titles[report.method]}: top events here`}
              caption={`Here: ${pairs} + ${pairs} sessions, ${formatMs(report.measuredMs)} in all repeats`}
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

/**
 * Explains what the shares are based on. Points that were recorded without time books have the CPU of the process, and the waits
 * of all sessions.
 */
function shareOf(reports: readonly MethodReport[]): string {
  const explained = reports.flatMap(({ accounted }) => accounted ?? []);
  if (explained.length < reports.length) return 'shares are of the CPU of the process and these waits alone';
  const percents = explained.map((share) => `${formatValue(Math.round(share * 1_000) / 10)} %`).join(' and ');
  return `shares are of the dequeuers’ time without idle waits; ${percents} of all their time is explained`;
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
      <table className="table table-dense event-table">
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
              Share
            </th>
          </tr>
        </thead>
        <tbody>
          {events.map(({ event, waits, seconds, share }) => (
            <tr key={event}>
              <th scope="row">{event}</th>
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
