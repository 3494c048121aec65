import { useCallback, useMemo, useRef } from 'react';
import { createFilmstripChart, type FilmstripEvents } from '../../charts/filmstrip-chart.ts';
import { type Frame, positionOf, timeAt } from '../../model/filmstrip.ts';
import { plural } from '../../model/format.ts';
import { moveTimeCursor, type TimeCursor } from '../../parts/time-cursor.ts';
import { useChart, useWidth } from '../../parts/use-chart.ts';
import { useChartHint } from '../../parts/use-chart-hint.ts';

const stripHeight = 40;

/** The trials of a run as a strip that selects the time. */
export function Filmstrip(props: {
  frames: readonly Frame[];
  planned: number;
  atMs: number;
  selected: string | null;
  isUnderWay: boolean;
  cursor: TimeCursor;
  spoken: string;
}) {
  const { frames, planned, atMs, selected, isUnderWay, cursor, spoken } = props;
  const dragging = useChartHint(
    'Drag, or use the arrow keys, to see the run as it was.',
    'Drag to see the run as it was.',
  );
  const { box, width } = useWidth();
  const events = useRef<FilmstripEvents>({ onScrub: () => {} });
  events.current = { onScrub: (position) => cursor.set(timeAt(frames, position)) };
  const create = useCallback(
    (svg: SVGSVGElement) =>
      createFilmstripChart(svg, { onScrub: (position) => events.current.onScrub(position) }),
    [],
  );
  const { element } = useChart(
    create,
    useMemo(
      () => ({
        width: Math.max(width, 240),
        height: stripHeight,
        frames,
        planned,
        position: positionOf(frames, atMs),
        selected,
        isUnderWay,
      }),
      [width, frames, planned, atMs, selected, isUnderWay],
    ),
  );
  const steps = useMemo(() => frames.map(({ ticks }) => ({ samples: ticks })), [frames]);
  return (
    <div className="strip">
      <div
        ref={box}
        className="strip-plot"
        role="slider"
        tabIndex={0}
        aria-label="Trials: time that is shown"
        aria-valuemin={0}
        aria-valuemax={Math.max(1, Math.round((frames.at(-1)?.toMs ?? 0) / 1000))}
        aria-valuenow={Math.round(atMs / 1000)}
        aria-valuetext={spoken}
        onKeyDown={(event) => {
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          if (moveTimeCursor(cursor, event.key, steps)) event.preventDefault();
        }}
      >
        <svg ref={element} aria-hidden="true" />
      </div>
      <p className="small muted">
        {plural(frames.length, 'trial')}
        {isUnderWay ? ', the last one under way' : ''}: a frame each, as high as its rate. {dragging}
        {isUnderWay ? (
          <>
            {' '}
            <button type="button" className="link" onClick={() => cursor.set(null)}>
              Follow the run
            </button>
          </>
        ) : null}
      </p>
    </div>
  );
}
