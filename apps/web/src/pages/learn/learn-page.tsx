import type { LessonEntry } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lessonsQuery } from '../../api/queries.ts';
import { formatEstimate } from '../../model/format.ts';
import { QueryResult } from '../../parts/query-states.tsx';
import { useTitle } from '../../parts/use-title.ts';

/** All lessons in their order. */
export function LearnPage() {
  useTitle('Learn');
  const lessons = useQuery(lessonsQuery);
  return (
    <>
      <header className="page-head">
        <h1>Learn</h1>
        <p className="lead">
          Each lesson asks a question about queues. Guess first; then a short run on this machine answers, and
          says where the sessions waited.
        </p>
      </header>
      <QueryResult query={lessons} name="the lessons">
        {(data) => (
          <section className="section" aria-labelledby="lessons">
            <h2 id="lessons" className="visually-hidden">
              Lessons
            </h2>
            <ol className="lessons">
              {data.lessons.map((entry) => (
                <LessonCard key={entry.lesson.scenario.id} entry={entry} />
              ))}
            </ol>
          </section>
        )}
      </QueryResult>
    </>
  );
}

function LessonCard({ entry: { lesson, estimatedMs } }: { entry: LessonEntry }) {
  const { scenario, topic } = lesson;
  return (
    <li className="panel lesson-card">
      <h3>
        <Link to="/learn/$lessonId" params={{ lessonId: scenario.id }}>
          {topic}
        </Link>
      </h3>
      <p>{scenario.question}</p>
      <p className="small muted">about {formatEstimate(estimatedMs)}</p>
    </li>
  );
}
