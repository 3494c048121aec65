import { type Point, parametersKey, pointKey, type Run, type Tick } from '@shardlab/contract';
import { useMemo } from 'react';
import { createContentionChart, dotLegend } from '../../charts/contention-chart.ts';
import { systemsIn } from '../../charts/visual-encoding.ts';
import { describeCombination } from '../../model/combination-words.ts';
import { sessionsAt, whySentence } from '../../model/contention.ts';
import { contentionHeight, layoutContention, type SideInput } from '../../model/contention-layout.ts';
import { contentionTable } from '../../model/contention-table.ts';
import { comparableEvidence } from '../../model/evidence.ts';
import { type Frame, type Moment, momentsAt } from '../../model/filmstrip.ts';
import { formatClock, formatMs, formatRate } from '../../model/format.ts';
import { runProvenance } from '../../model/provenance.ts';
import { isFinished } from '../../model/run-state.ts';
import { systemInWords } from '../../model/system-words.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { Legend } from '../../parts/legend-marks.tsx';
import { type TimeCursor, useCursorTime } from '../../parts/time-cursor.ts';
import { useChart, useWidth } from '../../parts/use-chart.ts';
import { Filmstrip } from './filmstrip.tsx';

export interface RunStageProps {
  run: Run;
  /** Its trials, see `framesOf`. */
  frames: readonly Frame[];
  /** The point that was chosen in a chart; null for none. */
  selected: Point | null;
  cursor: TimeCursor;
}

/** The states of the sessions of both systems side by side, and the trials as a strip that selects the time. */
export function RunStage(props: RunStageProps) {
  // The charts are a component of their own, which measures its width when it has something to show.
  if (props.frames.length === 0) return <NoStage />;
  return <Stage {...props} />;
}

function Stage(props: RunStageProps) {
  const { run, frames, selected, cursor } = props;
  const atMs = useCursorTime(cursor);
  const isUnderWay = !isFinished(run.status);
  const systems = useMemo(() => shownSystems(run), [run]);
  const fallback = useMemo(
    () => selected ?? comparableEvidence(run.points)?.sharded ?? null,
    [selected, run.points],
  );
  // A chosen point is shown in the place of the present, until the strip is moved.
  const isLive = isUnderWay && selected === null;
  const moments = useMemo(
    () => momentsAt(frames, { atMs, isUnderWay: isLive, systems, fallback }),
    [frames, atMs, isLive, systems, fallback],
  );
  const shown = moments.find((moment) => moment !== null)?.tick;
  const points = systems.flatMap(
    (system) =>
      run.points.find(
        (point) =>
          point.system === system && shown !== undefined && parametersKey(point) === parametersKey(shown),
      ) ?? [],
  );
  const cores = run.environment?.cores ?? null;
  // The slower one first: it is the one to be explained.
  const why = whySentence(points.toReversed(), cores);
  const { box, width: measured } = useWidth();
  const width = Math.max(measured, 240);
  const layout = useMemo(
    () =>
      layoutContention(
        moments.map((moment, index) => sideOf(moment, { system: systems[index]!, points, isUnderWay })),
        width,
      ),
    [moments, systems, points, width, isUnderWay],
  );
  const { element } = useChart(createContentionChart, layout);
  const legend = dotLegend(layout.perDot);
  const now = atMs ?? moments.find((moment) => moment?.isNow)?.tick.atMs ?? shown?.atMs ?? 0;
  return (
    <div className="stage panel">
      <ChartFrame
        title={why ?? (shown === undefined ? 'Sessions' : `Sessions: ${describeCombination(shown)}`)}
        unit=""
        fileName={`${run.scenario.id}-sessions`}
        table={() => contentionTable(moments)}
        svg={element}
        box={box}
        height={contentionHeight(width, systems.length)}
        saved={{ legend, provenance: runProvenance(run) }}
        legend={<Legend items={legend} label="Dots" />}
      />
      <Filmstrip
        frames={frames}
        planned={isUnderWay ? run.progress.total : 0}
        atMs={now}
        selected={selected === null ? null : pointKey(selected)}
        isUnderWay={isUnderWay}
        cursor={cursor}
        spoken={moments
          .map(describeMoment)
          .filter((text) => text !== '')
          .join('; ')}
      />
    </div>
  );
}

function NoStage() {
  return (
    <div className="stage panel">
      <p className="empty stage-empty">Sessions appear when the first trial starts.</p>
    </div>
  );
}

/** The two that the lab is about, or else the first two of the scenario. */
function shownSystems({ scenario, scale }: Run): string[] {
  const planned = (scale === 'quick' ? scenario.quick?.systems : undefined) ?? scenario.systems;
  const pair = ['sharded', 'unsharded'].filter((system) => planned.includes(system));
  return pair.length === 2 ? pair : systemsIn(planned.map((system) => ({ system }))).slice(0, 2);
}

function sideOf(
  moment: Moment | null,
  of: { system: string; points: readonly Point[]; isUnderWay: boolean },
): SideInput {
  const { system, points, isUnderWay } = of;
  const point = points.find((each) => each.system === system);
  if (moment === null)
    return {
      system,
      title: systemInWords(system),
      when: '',
      isNow: false,
      sessions: null,
      isUnderWay,
      gate: '',
    };
  const { tick, isNow } = moment;
  const place = describeCombination(tick);
  const when = isNow ? `${formatClock(tick.atMs)}, now` : `${formatClock(tick.atMs)}, as it was`;
  return {
    system,
    title: place.charAt(0).toUpperCase() + place.slice(1),
    when: `${when}${latencyOf(tick)}`,
    isNow,
    sessions: sessionsAt(tick),
    isUnderWay,
    gate: gateOf(system, point),
  };
}

function latencyOf({ instances }: Tick): string {
  const p99 = Math.max(0, ...instances.map(({ latencyMs }) => latencyMs.p99));
  return p99 > 0 ? `; latency p99 ${formatMs(p99)}` : '';
}

/** The longest wait of a system's sessions for each other at the point, once it is measured. */
function gateOf(system: string, point: Point | undefined): string {
  const event = point?.waits.find((wait) => wait.class === 'concurrency')?.event;
  if (event === 'write lock' || (event === undefined && system === 'unsharded')) return 'the write lock';
  return event ?? 'each other';
}

function describeMoment(moment: Moment | null): string {
  if (moment === null) return '';
  const { dequeuePerSec } = sessionsAt(moment.tick);
  return `${formatClock(moment.tick.atMs)}, ${describeCombination(moment.tick)}: ${formatRate(dequeuePerSec)}`;
}
