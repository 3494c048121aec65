import { useQuery } from '@tanstack/react-query';
import { waitsQuery } from '../api/queries.ts';
import { atPlace } from '../model/combination-words.ts';
import { formatCount, formatMs, formatValue } from '../model/format.ts';
import {
  cpuInWords,
  roundTripsInWords,
  type WaitTable,
  type WaitTables,
} from '../model/session-wait-tables.ts';
import { ScrollX } from './scroll-x.tsx';

/** The wait table of each session as databases print it, and that of one session of the document's run. */
export function SessionWaitTables(props: {
  tables: WaitTables;
  /** Which point, where that is not obvious. */
  place?: string;
}) {
  const { here, document } = props.tables;
  const { data: registry } = useQuery(waitsQuery);
  const standsFor = (event: string) => registry?.events.find(({ name }) => name === event)?.standsFor ?? null;
  return (
    <section className="section" aria-labelledby="session-waits">
      <div className="section-head">
        <h2 id="session-waits">What each session waited for</h2>
        <p className="small muted">
          {atPlace(props.place ?? '', 'from its first transaction to its last, of the first repeat')}
        </p>
      </div>
      <div className="split split-even">
        <div className="split">
          {here.map((table) => (
            <Waits key={table.title} table={table} where="Here" standsFor={standsFor} />
          ))}
        </div>
        {document === null ? null : (
          <Waits table={document} where="In the document, one session" standsFor={() => null} />
        )}
      </div>
    </section>
  );
}

/** The document rounds to 0.01 s. */
const duration = (ms: number): string => (ms === 0 ? '< 5 ms' : formatMs(ms));

function Waits(props: { table: WaitTable; where: string; standsFor(event: string): string | null }) {
  const { table, where, standsFor } = props;
  const { title, transactions, elapsedMs, explained, rows } = table;
  return (
    <article className="panel explain-panel" aria-label={`${where}: ${title}`}>
      <h3>{title}</h3>
      <p className="small muted">
        {where}: {formatCount(transactions)} transactions in {formatMs(elapsedMs)}
        {roundTripsInWords(table)}. {cpuInWords(table)}.
        {explained === null
          ? ''
          : ` CPU, named waits and waiting for a thread explain ${formatValue(Math.round(explained * 1_000) / 10)} %.`}
      </p>
      <ScrollX label={`${where}: waits of ${title}`}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Event</th>
              <th scope="col" className="number">
                Times
              </th>
              <th scope="col" className="number">
                Max.
              </th>
              <th scope="col" className="number">
                Total
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ event, waits, maxMs, totalMs, emulated }) => {
              const inOracle = standsFor(event);
              return (
                <tr key={event}>
                  <th scope="row" className="wait-event">
                    {event} {emulated ? <span className="tag">emulated</span> : null}
                    {inOracle === null || inOracle === event ? null : (
                      <span className="small muted event-original">in Oracle: {inOracle}</span>
                    )}
                  </th>
                  <td className="number">{formatCount(waits)}</td>
                  <td className="number">{duration(maxMs)}</td>
                  <td className="number">{duration(totalMs)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </ScrollX>
    </article>
  );
}
