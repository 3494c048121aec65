/** Rates, shares and counts as they stand in sentences. */

export const perSec = (rate: number) => `${Math.round(rate).toLocaleString('en-US')}/s`;
/** Whole percents from 1 % on; one significant digit below. */
export const percent = (share: number) =>
  `${Math.abs(share) >= 0.01 ? Math.round(share * 100) : Number((share * 100).toPrecision(1))} %`;
/** "1 repeat", "5 repeats" */
export const plural = (count: number, one: string) => `${count} ${count === 1 ? one : `${one}s`}`;
