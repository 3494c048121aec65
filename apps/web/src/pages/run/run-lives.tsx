import {
  type Point,
  type ProgramInfo,
  parametersKey,
  pointKey,
  type Run,
  type SampledTraces,
} from '@shardlab/contract';
import { useMemo } from 'react';
import { toneColor } from '../../charts/swimlane-chart.ts';
import { activityGroups } from '../../model/active-sessions.ts';
import { comparableEvidence } from '../../model/evidence.ts';
import { type Frame, frameIndexAt } from '../../model/filmstrip.ts';
import { formatMs } from '../../model/format.ts';
import { coverageSentence, whereaboutsSentence } from '../../model/message-life.ts';
import { runProvenance } from '../../model/provenance.ts';
import {
  lifeLanes,
  lifePhases,
  livesAt,
  livesInWords,
  lostSentence,
  type SampledLife,
  sampledLives,
} from '../../model/sampled-lives.ts';
import { LaneChart } from '../../parts/lane-chart.tsx';
import { LifeEvents } from '../../parts/life-events.tsx';
import { PointSelect } from '../../parts/point-select.tsx';
import { SelectChoice } from '../../parts/select-choice.tsx';
import { type TimeCursor, useCursorTime } from '../../parts/time-cursor.ts';
import type { RunSearch } from './run-search.ts';

export interface RunLivesProps {
  run: Run;
  program: ProgramInfo;
  /** Its trials, see `framesOf`. */
  frames: readonly Frame[];
  /** The point that was chosen; null for none. */
  selected: Point | null;
  cursor: TimeCursor;
  search: RunSearch;
  onSearch(change: { point?: string; message?: string | undefined }): void;
}

/** The lives of a few messages of the trial whose sessions are shown: where the time of each went, and one event by event. */
export function RunLives(props: RunLivesProps) {
  const { run, program, frames, selected, cursor, search, onSearch } = props;
  const points = useMemo(() => run.points.filter(({ traces }) => traces !== undefined), [run.points]);
  const groups = useMemo(
    () => activityGroups(points, { sweep: run.scenario.sweep, program }),
    [points, run.scenario, program],
  );
  const usual = useMemo(() => comparableEvidence(run.points)?.sharded, [run.points]);
  const atMs = useCursorTime(cursor);
  const underCursor = atMs === null ? undefined : frames[frameIndexAt(frames, atMs)];
  // Systems are compared at the same parameters, and only some of them have traces.
  const at = underCursor?.ticks[0] ?? selected ?? usual;
  const shown = (at && points.find((point) => parametersKey(point) === parametersKey(at))) ?? points.at(-1);
  if (shown === undefined) return null;
  return (
    <section className="section" aria-labelledby="life">
      <div className="section-head">
        <h2 id="life">One message’s life</h2>
        <p className="small muted">What the engine recorded when it happened; of the first repeat</p>
      </div>
      <PointSelect
        groups={groups}
        selected={pointKey(shown)}
        onSelect={(point) => {
          cursor.set(null);
          onSearch({ point, message: undefined });
        }}
      />
      <Lives
        run={run}
        traces={shown.traces!}
        chosen={search.message}
        onChoose={(message) => onSearch({ message })}
      />
    </section>
  );
}

function Lives(props: {
  run: Run;
  traces: SampledTraces;
  chosen: string | undefined;
  onChoose(id: string): void;
}) {
  const { run, traces, chosen, onChoose } = props;
  const lives = useMemo(() => sampledLives(traces), [traces]);
  const shown = lives.find(({ message }) => message.id === chosen) ?? lives[0];
  const lost = lostSentence(traces);
  if (shown === undefined) {
    return (
      <p className="empty">
        {lost ||
          'None of its traced messages was at work in the measured window: one message in 512 is traced, by the number in its id.'}
      </p>
    );
  }
  return (
    <div className="split split-even run-lives">
      <LivesChart run={run} lives={lives} />
      <section className="panel message-life" aria-label="Event by event">
        <SelectChoice
          label="Message"
          value={shown.message.id}
          options={lives.map(({ label, message }) => ({ value: message.id, label }))}
          onChange={onChoose}
        />
        <Life life={shown} />
        {lost === '' ? null : <p className="small muted">{lost}</p>}
      </section>
    </div>
  );
}

const format = (ms: number): string => (ms > 0 ? formatMs(ms) : '0');

function LivesChart({ run, lives }: { run: Run; lives: readonly SampledLife[] }) {
  const lanes = useMemo(() => lifeLanes(lives), [lives]);
  const legend = useMemo(() => {
    const names = new Set(lanes.flatMap(({ spans }) => spans.map(({ name }) => name)));
    return Object.values(lifePhases)
      .filter(({ name }) => names.has(name))
      .map(({ name, tone }) => ({ label: name, color: toneColor[tone] }));
  }, [lanes]);
  return (
    <LaneChart
      provenance={runProvenance(run)}
      lanes={lanes}
      title="Where their time went"
      unit="time from the enqueue to the consumption, ± 1 ms: the enqueue is known in whole milliseconds"
      timeUnit="ms"
      fileName={`${run.scenario.id}-lives`}
      legend={legend}
      words={livesInWords(lives)}
      wordsAt={(time) => livesAt(lanes, time)}
      format={format}
    />
  );
}

function Life({ life: { message } }: { life: SampledLife }) {
  const { id, coverage, overwritten, events, eventsLeftOut, whereabouts } = message;
  return (
    <>
      <h3>Message {id}</h3>
      <LifeEvents events={events} times="since the first" />
      {whereabouts.map((where) => (
        <p key={JSON.stringify(where)}>When it was read last: {whereaboutsSentence(where)}</p>
      ))}
      <p className="small muted">
        {coverageSentence({ coverage, recorders: [{ overwritten }] })}
        {eventsLeftOut === 0 ? '' : ` ${eventsLeftOut} later events were recorded, and are not kept.`}
      </p>
    </>
  );
}
