/** Numbers of a document, in the form in which they can be compared with each other. Only what its text and tables give. */

/** Units by kind; numbers with units of the same kind can be compared. */
export const unitsInBase = {
  us: { kind: 'time', factor: 1e-6, words: 'µs' },
  ms: { kind: 'time', factor: 1e-3, words: 'ms' },
  s: { kind: 'time', factor: 1, words: 's' },
  perSec: { kind: 'rate', factor: 1, words: '/s' },
  perHour: { kind: 'rate', factor: 1 / 3_600, words: '/h' },
  count: { kind: 'count', factor: 1, words: '' },
} as const;
export type Unit = keyof typeof unitsInBase;

export interface Statement {
  /** Where in the document: "prose of test 1", "table of test 1". */
  where: string;
  value: number;
  unit: Unit;
  /** How it is meant: default `about`, within its last digit or a tenth. */
  bound?: 'about' | 'over' | 'under';
}

interface OfClaims {
  /** Claims that rest on these numbers. */
  claims: readonly string[];
  what: string;
}

/** The same quantity, stated more than once. */
export interface SameQuantity extends OfClaims {
  kind: 'same';
  stated: readonly Statement[];
}

/** How often something was waited for, how long in all, and the longest time that the document names. */
export interface WaitNumbers extends OfClaims {
  kind: 'waits';
  waits: number;
  total: Statement;
  longest: Statement;
}

/** Rates of several runs, each with the time that the run took and what it did in that time. */
export interface RateNumbers extends OfClaims {
  kind: 'rates';
  runs: readonly { where: string; perSec: number; elapsedS: number; done: number }[];
}

/** Totals of several rows, each with the number of one part and how many parts there are. */
export interface TotalNumbers extends OfClaims {
  kind: 'totals';
  rows: readonly { where: string; one: number; parts: number; total: number }[];
}

/** Parts that the document adds up. */
export interface SumNumbers extends OfClaims {
  kind: 'sum';
  where: string;
  parts: readonly number[];
  sum: number;
}

/** A difference of two numbers, and the document's statement about it. */
export interface DifferenceNumbers extends OfClaims {
  kind: 'difference';
  from: Statement;
  to: Statement;
  stated: Statement;
}

export type DocumentNumbers =
  | SameQuantity
  | WaitNumbers
  | RateNumbers
  | TotalNumbers
  | SumNumbers
  | DifferenceNumbers;
