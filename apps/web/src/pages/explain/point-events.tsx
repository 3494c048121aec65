import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { waitsQuery } from '../../api/queries.ts';
import type { EventColor } from '../../charts/waits-color.ts';
import { inUnit, type PointActivity } from '../../model/active-sessions.ts';
import { formatCount, formatMs, formatSessions } from '../../model/format.ts';
import { adviceFor, isSimulated, meaningOfState, presetOf } from '../../model/wait-advice.ts';
import { Swatch } from '../../parts/legend-marks.tsx';
import { ScrollX } from '../../parts/scroll-x.tsx';

/** The events of one point, ranked, with what they mean. Selecting one shows its durations and what would help. */
export function PointEvents(props: {
  at: PointActivity;
  colors: ReadonlyMap<string, EventColor>;
  selected: string | null;
  onSelect(event: string): void;
}) {
  const { at, colors, selected, onSelect } = props;
  const { data: registry } = useQuery(waitsQuery);
  const meaningOf = (name: string) =>
    meaningOfState[name] ?? registry?.events.find((event) => event.name === name) ?? null;
  if (at.activities.length === 0) return <p className="empty">At this point nothing was recorded.</p>;
  return (
    <ScrollX label="Events of the point" framed>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col" className="event-about">
              What it is
            </th>
            <th scope="col" className="event-oracle">
              In Oracle
            </th>
            <th scope="col" className="number">
              Active sessions
            </th>
            <th scope="col" className="number">
              Share
            </th>
            <th scope="col" className="number">
              Per message
            </th>
            <th scope="col" className="number">
              Waits
            </th>
            <th scope="col" className="number">
              Mean
            </th>
            <th scope="col" className="number">
              p99
            </th>
          </tr>
        </thead>
        <tbody>
          {at.activities.map(({ name, sessions, waits, totalMs, p99Ms, emulated }) => (
            <tr key={name} data-selected={name === selected ? '' : undefined}>
              <th scope="row">
                <button
                  type="button"
                  className="event-button"
                  aria-pressed={name === selected}
                  onClick={() => onSelect(name)}
                >
                  <Swatch color={colors.get(name)?.fill ?? ''} opacity={colors.get(name)?.opacity ?? 1} />
                  {name}
                </button>{' '}
                {emulated ? <span className="tag">emulated</span> : null}
                <span className="small muted event-meaning">
                  {meaningOf(name)?.about ?? '–'}; in Oracle: {meaningOf(name)?.standsFor ?? 'none'}
                </span>
              </th>
              <td className="wrap small event-about">{meaningOf(name)?.about ?? '–'}</td>
              <td className="small event-oracle">{meaningOf(name)?.standsFor ?? 'none'}</td>
              <td className="number">{formatSessions(sessions)}</td>
              <td className="number">
                {at.sessions > 0 ? `${((sessions / at.sessions) * 100).toFixed(1)} %` : '–'}
              </td>
              <td className="number">{formatMs(inUnit(sessions, 'us', at.messagesPerSec) / 1_000)}</td>
              <td className="number">{waits === null ? '–' : formatCount(waits)}</td>
              <td className="number">{waits === null || waits === 0 ? '–' : formatMs(totalMs / waits)}</td>
              <td className="number">{p99Ms === null || p99Ms === 0 ? '–' : formatMs(p99Ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

/** Advice on how to shorten the event, each with a link to the model at this point if the model has a slider for it. */
export function WhatHelps(props: {
  at: PointActivity;
  event: string;
  runId: string;
  /** Cores of the machine; null if unknown. */
  cores: number | null;
}) {
  const { at, event, runId, cores } = props;
  const advice = adviceFor(event, at, cores);
  const simulated = isSimulated(at.point);
  return (
    <section className="panel explain-panel" aria-labelledby="what-helps">
      <h3 id="what-helps">What would help: {event}</h3>
      {advice.length === 0 ? (
        <p className="small muted">No setting is known to make this wait shorter.</p>
      ) : (
        <ul className="plain-list">
          {advice.map(({ text, change }) => (
            <li key={text}>
              {text}
              {change === null || !simulated ? null : (
                <>
                  {' · '}
                  <Link
                    to="/what-if"
                    search={{ ...presetOf(at.point, change), run: runId }}
                    aria-label={`What if: ${text}`}
                  >
                    What if
                  </Link>
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      {simulated ? (
        <p className="small muted">
          Each link opens the model with the settings and the threads of this point, changed as it says.
        </p>
      ) : null}
    </section>
  );
}
