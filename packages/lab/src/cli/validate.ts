import { exitCodes } from '../errors/exit-codes.ts';
import { planRun } from '../run/plan-run.ts';
import { estimateInWords } from './duration.ts';
import { loadOrExplain } from './load-scenario.ts';

/** `validate <file>` */
export async function validateCommand(target: string): Promise<number> {
  const scenario = await loadOrExplain(target);
  if (scenario === null) return exitCodes.usage;
  process.stdout.write(`${scenario.id} is a valid scenario\n`);
  for (const scale of ['quick', 'full'] as const) {
    const { trials, estimatedMs } = planRun(scenario, scale);
    process.stdout.write(`  ${scale}: ${trials.length} trials, about ${estimateInWords(estimatedMs)}\n`);
  }
  return exitCodes.done;
}
