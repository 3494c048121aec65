import type { LessonEntry } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { lessonsQuery } from '../../api/queries.ts';
import { formatEstimate } from '../../model/format.ts';
import { guessInWords, isGuess } from '../../model/lesson-result.ts';
import { QueryResult } from '../../parts/query-states.tsx';
import { RunButton } from '../../parts/run-button.tsx';
import { useTitle } from '../../parts/use-title.ts';
import { GuessFields } from './guess-fields.tsx';
import { LessonRun } from './lesson-run.tsx';

/** One lesson: the question, the guess, the run and what it says. */
export function LessonPage() {
  const { lessonId } = useParams({ from: '/learn/$lessonId' });
  const lessons = useQuery(lessonsQuery);
  return (
    <>
      {lessons.data === undefined ? <h1>Lesson</h1> : null}
      <QueryResult query={lessons} name="the lesson">
        {({ lessons: all }) => {
          const index = all.findIndex(({ lesson }) => lesson.scenario.id === lessonId);
          const entry = all[index];
          if (entry === undefined) return <UnknownLesson />;
          return <LessonView key={lessonId} entry={entry} next={all[index + 1] ?? null} />;
        }}
      </QueryResult>
    </>
  );
}

function UnknownLesson() {
  useTitle('Learn');
  return (
    <header className="page-head">
      <h1>There is no such lesson</h1>
      <p>
        <Link to="/learn">All lessons</Link>
      </p>
    </header>
  );
}

function LessonView({ entry, next }: { entry: LessonEntry; next: LessonEntry | null }) {
  const { lesson, estimatedMs } = entry;
  const { scenario, guess } = lesson;
  useTitle(scenario.title);
  const search = useSearch({ from: '/learn/$lessonId' });
  const navigate = useNavigate({ from: '/learn/$lessonId' });
  const given = search.guess !== undefined && isGuess(guess, search.guess) ? search.guess : null;
  const [value, setValue] = useState<number | null>(given);
  const again = () => {
    setValue(null);
    void navigate({ search: {}, resetScroll: false });
  };
  const start = (
    <RunButton
      scenario={scenario.id}
      scale="quick"
      kind="button-primary"
      disabled={value === null}
      onStarted={(run) =>
        void navigate({ search: { ...(value === null ? {} : { guess: value }), run }, resetScroll: false })
      }
    >
      {`Run it, about ${formatEstimate(estimatedMs)}`}
    </RunButton>
  );
  return (
    <>
      <header className="page-head">
        <p className="small">
          <Link to="/learn">Learn</Link> <span className="muted">/ {lesson.topic}</span>
        </p>
        <h1>{scenario.question}</h1>
        <p className="lead">{lesson.background}</p>
      </header>
      {search.run === undefined ? (
        <section className="section lesson-part" aria-labelledby="guess">
          <h2 id="guess">Your guess</h2>
          <GuessFields lesson={lesson} value={value} onChange={setValue} />
          <div className="row">
            {start}
            {value === null ? <span className="small muted">Guess first.</span> : null}
          </div>
        </section>
      ) : (
        <>
          {given === null ? null : (
            <p className="lesson-guessed">
              <span className="muted">You guessed</span> {guessInWords(lesson, given)}
            </p>
          )}
          <LessonRun lesson={lesson} runId={search.run} guess={given} onAgain={again} />
        </>
      )}
      {next === null ? null : (
        <p>
          Next:{' '}
          <Link to="/learn/$lessonId" params={{ lessonId: next.lesson.scenario.id }}>
            {next.lesson.topic}
          </Link>
        </p>
      )}
    </>
  );
}
