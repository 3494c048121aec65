import type { Lesson, Run } from '@shardlab/contract';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { trustOf } from '../../model/evidence.ts';
import { formatCount, formatDuration, plural } from '../../model/format.ts';
import { type ComparedGuess, lessonResult } from '../../model/lesson-result.ts';
import { isFinished } from '../../model/run-state.ts';
import { ErrorNotice, Loading } from '../../parts/query-states.tsx';
import { useFollowedRun } from '../../parts/use-followed-run.ts';
import { useLostSince } from '../../parts/use-lost-since.ts';

interface LessonRunProps {
  lesson: Lesson;
  runId: string;
  guess: number | null;
  /** Called for another guess. */
  onAgain(): void;
}

/** The run of a lesson: how far it is, then what it says. */
export function LessonRun({ runId, ...props }: LessonRunProps) {
  const { followed, error } = useFollowedRun(runId);
  if (followed === null) return error === null ? <Loading name="the run" /> : <ErrorNotice error={error} />;
  const { run } = followed;
  if (!isFinished(run.status)) return <UnderWay run={run} />;
  return <Answer run={run} {...props} />;
}

function UnderWay({ run }: { run: Run }) {
  const { done, total, etaMs, current } = run.progress;
  const isStale = useLostSince() !== null;
  return (
    <section className="section lesson-part" aria-labelledby="running">
      <h2 id="running">{run.status === 'queued' ? 'Waiting for the run before' : 'Measuring'}</h2>
      <div className="progress" role="status">
        <progress
          className="progress-bar"
          aria-label="Trials finished"
          value={done}
          max={Math.max(1, total)}
        />
        <p className="small">
          <strong>
            {formatCount(done)} of {plural(total, 'trial')}
          </strong>
          {etaMs === null || isStale ? '' : `, about ${formatDuration(etaMs)} left`}
          {current === undefined ? null : <span className="muted">: {current}</span>}
        </p>
      </div>
      <p className="small">
        <Link to="/runs/$runId" params={{ runId: run.id }}>
          Watch its sessions
        </Link>
      </p>
    </section>
  );
}

function Answer({ lesson, run, guess, onAgain }: Omit<LessonRunProps, 'runId'> & { run: Run }) {
  const result = useMemo(() => lessonResult(lesson, run, guess), [lesson, run, guess]);
  const repeats = Math.min(...run.points.map((point) => point.repeats.length));
  const trust = trustOf(run, Number.isFinite(repeats) ? repeats : 0);
  return (
    <>
      {run.status === 'done' ? null : (
        <p className="notice" data-tone="bad" role="alert">
          {run.status === 'cancelled'
            ? 'The run was cancelled; what it had measured until then follows.'
            : `The run failed${run.error === null ? '' : `: ${run.error.message}`}.`}
        </p>
      )}
      {result.compared === null ? null : <Compared compared={result.compared} />}
      <Sentences id="happened" title="What happened" sentences={result.happened} />
      <Sentences id="waited" title="Where it waited" sentences={result.waited} />
      <p className="small muted lesson-part">
        Measured on this machine: {trust.repeats}; {trust.load}; {trust.noise}.
      </p>
      <div className="row">
        <Link className="button" to="/runs/$runId" params={{ runId: run.id }}>
          Open the run
        </Link>
        <Link className="button" to="/runs/$runId/explain" params={{ runId: run.id }}>
          Explain its waits
        </Link>
        <button type="button" className="button" onClick={onAgain}>
          Guess again
        </button>
      </div>
    </>
  );
}

function Compared({ compared }: { compared: ComparedGuess }) {
  const { guess, result, verdict, isClose, bars } = compared;
  return (
    <section className="section lesson-part" aria-labelledby="answer">
      <h2 id="answer">The answer</h2>
      <p className="lesson-number">{result}</p>
      <p className="lesson-verdict" data-close={isClose ? '' : undefined}>
        {verdict}
      </p>
      {bars === null ? null : (
        <dl className="lesson-scale">
          {[
            { name: 'Guess', words: guess, length: bars.guess },
            { name: 'Result', words: result, length: bars.result },
          ].map(({ name, words, length }) => (
            <div key={name} data-bar={name.toLowerCase()}>
              <dt className="small muted">{name}</dt>
              <dd>
                <span className="lesson-bar" style={{ width: `${Math.max(0.5, 100 * length)}%` }} />
                <span className="small">{words}</span>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

function Sentences({ id, title, sentences }: { id: string; title: string; sentences: readonly string[] }) {
  return (
    <section className="section lesson-part" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {sentences.length === 0 ? (
        <p className="empty">This run did not measure it.</p>
      ) : (
        <ul className="lesson-sentences">
          {sentences.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
    </section>
  );
}
