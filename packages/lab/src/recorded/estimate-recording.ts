/** How long a recording of several scenarios takes: a trial that two of them share is measured once. */
import type { Scale, Scenario } from '@shardlab/contract';
import { estimateTrialMs, planRun } from '../run/plan-run.ts';
import { identityOf, keyOf } from '../run/trial-journal.ts';

/** Milliseconds, without what has to be measured again. Trials for which `isMeasured` returns true take no time. */
export function estimateRecordingMs(
  scenarios: readonly Scenario[],
  scale: Scale,
  isMeasured: (identity: ReturnType<typeof identityOf>) => boolean = () => false,
): number {
  const seen = new Set<string>();
  let ms = 0;
  for (const scenario of scenarios) {
    const plan = planRun(scenario, scale);
    for (const trial of plan.trials) {
      const identity = identityOf(trial, scenario, plan);
      const key = keyOf(identity);
      if (!seen.has(key) && !isMeasured(identity)) ms += estimateTrialMs(trial, plan);
      seen.add(key);
    }
  }
  return ms;
}
