import { type Point, pointKey, type Run, type Tick } from '@shardlab/contract';
import { describeCombination } from '../../model/combination-words.ts';
import { sessionsAt } from '../../model/contention.ts';
import type { Frame } from '../../model/filmstrip.ts';
import { formatClock, formatRate } from '../../model/format.ts';
import { isFinished } from '../../model/run-state.ts';
import { tickAt } from '../../model/time-series.ts';
import { type TimeCursor, useCursorTime } from '../../parts/time-cursor.ts';
import { Filmstrip } from './filmstrip.tsx';

/** The strip of trials alone, for programs whose sessions are not shown in front of locks and files. */
export function RunStrip(props: {
  run: Run;
  ticks: readonly Tick[];
  /** Its trials, see `framesOf`. */
  frames: readonly Frame[];
  /** The point that was chosen in a chart; null for none. */
  selected: Point | null;
  cursor: TimeCursor;
}) {
  const { run, ticks, frames, selected, cursor } = props;
  const cursorMs = useCursorTime(cursor);
  const isUnderWay = !isFinished(run.status);
  const atMs = cursorMs ?? ticks.at(-1)?.atMs ?? 0;
  const tick = tickAt(ticks, atMs);
  const spoken =
    tick === null
      ? ''
      : `${formatClock(tick.atMs)}, ${describeCombination(tick)}: ${formatRate(sessionsAt(tick).dequeuePerSec)}`;
  if (frames.length === 0) return null;
  return (
    <div className="panel strip-alone">
      <Filmstrip
        frames={frames}
        planned={isUnderWay ? run.progress.total : 0}
        atMs={atMs}
        selected={selected === null ? null : pointKey(selected)}
        isUnderWay={isUnderWay}
        cursor={cursor}
        spoken={spoken}
      />
    </div>
  );
}
