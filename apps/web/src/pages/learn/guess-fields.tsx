import type { Lesson } from '@shardlab/contract';
import { useId } from 'react';
import { guessInWords } from '../../model/lesson-result.ts';

/** Asks for a guess. `value`: of the slider, or the number of the chosen option; null before the first. */
export function GuessFields(props: { lesson: Lesson; value: number | null; onChange(value: number): void }) {
  const { lesson, value, onChange } = props;
  const { guess } = lesson;
  const id = useId();
  if (guess.kind === 'choice') {
    return (
      <fieldset className="lesson-options">
        <legend>{guess.ask}</legend>
        {guess.options.map(({ label }, index) => (
          <label key={label} className="check">
            <input type="radio" name={id} checked={index === value} onChange={() => onChange(index)} />
            <span>{label}</span>
          </label>
        ))}
      </fieldset>
    );
  }
  const middle = guess.min + Math.round((guess.max - guess.min) / 2 / guess.step) * guess.step;
  const shown = value ?? middle;
  const words = guessInWords(lesson, shown);
  return (
    <div className="lesson-slider">
      <label htmlFor={id}>{guess.ask}</label>
      <output htmlFor={id} className="lesson-number" data-unset={value === null ? '' : undefined}>
        {value === null ? '?' : words}
      </output>
      <input
        id={id}
        type="range"
        min={guess.min}
        max={guess.max}
        step={guess.step}
        value={shown}
        aria-valuetext={value === null ? 'no guess yet' : words}
        onChange={(event) => onChange(Number(event.target.value))}
        // The middle is a guess too, but moving there from the middle is no change.
        onPointerUp={(event) => onChange(Number(event.currentTarget.value))}
      />
      <p className="small muted lesson-ends" aria-hidden="true">
        <span>{guessInWords(lesson, guess.min)}</span>
        <span>{guessInWords(lesson, guess.max)}</span>
      </p>
    </div>
  );
}
