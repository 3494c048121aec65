import { exitCodes } from '../errors/exit-codes.ts';
import { planRun } from '../run/plan-run.ts';
import { readScenarios } from '../scenario/scenario-folder.ts';
import { estimateInWords } from './duration.ts';

/** `list` */
export async function listCommand(): Promise<number> {
  let faulty = false;
  for (const { file, parsed } of await readScenarios()) {
    if (!parsed.ok) {
      faulty = true;
      process.stderr.write(`${file}: ${parsed.error.message}\n`);
      continue;
    }
    const { id, title, claims } = parsed.scenario;
    const [quick, full] = (['quick', 'full'] as const).map(
      (scale) => planRun(parsed.scenario, scale).estimatedMs,
    );
    process.stdout.write(
      `${id}\n  ${title}\n  claims ${claims.join(', ') || 'none'}; quick takes about ${estimateInWords(quick!)}, full about ${estimateInWords(full!)}\n`,
    );
  }
  return faulty ? exitCodes.failed : exitCodes.done;
}
