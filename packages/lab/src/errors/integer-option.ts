import { exitCodes } from './exit-codes.ts';

/** The value of a command line's option. If it is not an integer of at least `min`, says so on stderr and ends the process. */
export function integerOption(name: string, text: string, min: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= min) return value;
  process.stderr.write(`--${name} must be an integer of at least ${min}, not "${text}"\n`);
  process.exit(exitCodes.usage);
}
