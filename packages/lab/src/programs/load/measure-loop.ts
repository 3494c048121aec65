/** Measures a bound beside a trial of any program: a closed loop of the same sessions, in one process. */
import type { TrialOptions } from '../../trial/trial.ts';
import type { LoopCell } from '../program.ts';
import { closedLoop } from './closed-loop-program.ts';

export interface LoopOptions extends Pick<TrialOptions, 'scenario' | 'dir'> {
  /** Which rate is measured. */
  figure: string;
  measureMs: number;
  signal: AbortSignal | undefined;
}

/** Messages a second. Rejects if the loop fails or the signal aborts; no file of it remains. */
export async function measureLoop(
  system: string,
  cell: LoopCell,
  { figure, measureMs, scenario, dir, signal }: LoopOptions,
): Promise<number> {
  const trial = { program: closedLoop.id, system, params: { ...cell }, index: 0, repeat: 0, key: '' };
  const phases = { warmupMs: measureMs / 5, measureMs, drainMs: 1_000 };
  const { figures, integrity } = await closedLoop.run({
    ...{ scenario, dir, trial, phases },
    ...(signal === undefined ? {} : { signal }),
  });
  const { lost, duplicated, damaged, outOfOrder } = integrity;
  if (lost + duplicated + damaged + outOfOrder > 0)
    throw new Error(
      `${system} did not deliver every message once and in order: ${JSON.stringify(integrity)}`,
    );
  return figures[figure]!;
}
