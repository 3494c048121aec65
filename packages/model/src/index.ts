/** All that is public of the models. Pure: no Node, no clock, no randomness, so it also runs in a browser. */

export { type Interval, median, ratioInterval, spread } from './intervals.ts';
export { fitLogLog, type LogLogFit } from './log-log-fit.ts';
export { studentT95 } from './student-t.ts';
