/** A run as data, and how events change it. */
import { pointKey, type Run, type RunEvent, type Scale, type Scenario } from '@shardlab/contract';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';
import { planFigures } from './plan-run.ts';

/** A run that has not started: status `queued`, all claims without points. */
export function newRun(options: {
  id: string;
  scenario: Scenario;
  scale: Scale;
  createdAtMs: number;
  /** Default: the bundled ones. */
  studies?: StudyRegistry;
}): Run {
  const { id, scenario, scale, createdAtMs, studies = bundledStudies } = options;
  const plan = planFigures(scenario, scale, studies);
  return {
    id,
    scenario,
    scale,
    status: 'queued',
    createdAtMs,
    startedAtMs: null,
    endedAtMs: null,
    progress: { done: 0, total: plan.trials, etaMs: plan.estimatedMs },
    points: [],
    claims: studies.judge(scenario.claims, [], { cores: null }),
    environment: null,
    watched: false,
    error: null,
  };
}

/** The run after an event. Ticks leave it unchanged. Does not modify its argument. */
export function applyRunEvent(run: Run, event: RunEvent): Run {
  switch (event.type) {
    case 'snapshot':
      return event.run;
    case 'end':
      return event.run ?? run;
    case 'status':
      return { ...run, status: event.status, error: event.error ?? run.error };
    case 'progress':
      return { ...run, progress: event.progress };
    case 'point': {
      const key = pointKey(event.point);
      const known = run.points.some((point) => pointKey(point) === key);
      const points = known
        ? run.points.map((point) => (pointKey(point) === key ? event.point : point))
        : [...run.points, event.point];
      return { ...run, points, claims: event.claims };
    }
    case 'tick':
      return run;
  }
}
