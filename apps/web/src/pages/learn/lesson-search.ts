/** The query string of a lesson: the guess and the run that answered it, so that a link shows both. */
export interface LessonSearch {
  /** The value of a slider, or the number of a choice, from 0. */
  guess?: number;
  run?: string;
}

/** Drops unknown values, so that an old link shows the page instead of an error. */
export function readLessonSearch(search: Record<string, unknown>): LessonSearch {
  const { guess, run } = search;
  return {
    ...(typeof guess === 'number' && Number.isFinite(guess) ? { guess } : {}),
    ...(typeof run === 'string' ? { run } : {}),
  };
}
