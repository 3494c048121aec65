/** Values of a parameter as they are typed: a list, or from–to–step. */
import { type ParamValue, scenarioLimits } from '@shardlab/contract';

/** "1, 2, 4" or "1 2 4" as a list. A part that is not a number stays a text, so that the check reports it. */
export function readValues(text: string): ParamValue[] {
  return text
    .split(/[\s,;]+/)
    .filter((part) => part !== '')
    .map(readValue);
}

/** A number if the text is one. */
export function readValue(text: string): ParamValue {
  const number = Number(text);
  return text.trim() === '' || Number.isNaN(number) ? text : number;
}

export interface Steps {
  from: number;
  to: number;
  /** The amount added to each value, or its factor. */
  by: number;
  kind: 'plus' | 'times';
}

/**
 * The values of a range, its end included if a step meets it. At most as many as an axis may have. Returns the reason if there
 * are none.
 */
export function valuesOfSteps({ from, to, by, kind }: Steps): number[] | string {
  if (![from, to, by].every(Number.isFinite)) return 'From, to and step must be numbers.';
  if (to < from) return 'The end must not be below the start.';
  if (kind === 'plus' && by <= 0) return 'The step must be more than 0.';
  if (kind === 'times' && (by <= 1 || from <= 0))
    return 'The factor must be more than 1, and the start more than 0.';
  const values: number[] = [];
  for (let index = 0; ; index++) {
    // Each value from the start, so that errors of rounding do not add up.
    const value = Number((kind === 'plus' ? from + index * by : from * by ** index).toPrecision(12));
    if (value > to) return values;
    if (values.length === scenarioLimits.axisValuesMax)
      return `These are more than ${scenarioLimits.axisValuesMax} values, the most that an axis may have.`;
    values.push(value);
  }
}
