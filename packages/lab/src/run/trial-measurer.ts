/** Measures the trials of a run, each with all that belongs to it. */
import type { KilledTrial, Params, Scenario, Tick } from '@shardlab/contract';
import type { Surroundings } from '../surroundings/surroundings.ts';
import type { MeasuredRepeat, Trial, TrialOptions } from '../trial/trial.ts';
import { againShareMax, isWorthAnother, measureRepeat, NeverSteadyPoints } from './measure-repeat.ts';
import { probeOf, withRawRatio } from './measured-beside.ts';
import type { RunPlan } from './plan-run.ts';

/** The result of a trial of the plan. */
export interface MeasuredTrial {
  repeat: MeasuredRepeat;
  /** Another trial of the same point that was killed, if the plan has one after this. */
  killed?: KilledTrial;
  /** Ticks of the repeat that counts. */
  ticks: Tick[];
}

export interface TrialMeasurerOptions {
  plan: RunPlan;
  scenario: Scenario;
  surroundings: Surroundings;
  signal?: AbortSignal;
  /** Returns the tick as it is in the run. */
  onTick(tick: Tick): Tick;
  /** Something else than the trial as planned is run: why, in words. */
  onDetour(trial: Trial, why: string): void;
}

export class TrialMeasurer {
  readonly #options: TrialMeasurerOptions;
  #measuredAgain = 0;
  /** Planned time that is left for measuring again, milliseconds. */
  #againMs: number;
  readonly #neverSteady = new NeverSteadyPoints();

  constructor(options: TrialMeasurerOptions) {
    this.#options = options;
    this.#againMs = options.plan.estimatedMs * againShareMax;
  }

  /** Trials that were measured again. */
  get measuredAgain(): number {
    return this.#measuredAgain;
  }

  /** Rejects as the program's `run` does. `dir`: scratch folder of the trial. */
  async measure(trial: Trial, dir: string): Promise<MeasuredTrial> {
    const { plan, scenario, signal, onTick, onDetour } = this.#options;
    const { program, phases } = plan;
    let ticks: Tick[] = [];
    const trialOptions: TrialOptions = {
      trial,
      scenario,
      phases,
      dir,
      ...(signal === undefined ? {} : { signal }),
      onTick: (tick) => void ticks.push(onTick(tick)),
    };
    const repeat = await measureRepeat({
      attempt: (reason) => {
        ticks = [];
        if (reason !== null) {
          this.#measuredAgain += 1;
          onDetour(trial, `again because it was ${reason}`);
        }
        return this.#attempt(trialOptions);
      },
      mayMeasureAgain: (attempt) => {
        if (!isWorthAnother(attempt, phases)) return false;
        if (!this.#neverSteady.expectsAnother(trial.key, attempt)) return false;
        const ms = program.estimateTrialMs(trial, phases);
        if (ms > this.#againMs) return false;
        this.#againMs -= ms;
        return true;
      },
    });
    this.#neverSteady.add(trial.key, repeat);
    if (!plan.kills.has(trial)) return { repeat, ticks };
    onDetour(trial, 'killed to show its durability');
    return { repeat, ticks, killed: await program.kill!.run(trialOptions) };
  }

  async #attempt(options: TrialOptions): Promise<MeasuredRepeat> {
    const { plan, surroundings } = this.#options;
    const rawShape = this.#rawShape(options.trial.params);
    return withRawRatio(await surroundings.measure(rawShape, () => plan.program.run(options)), plan.program);
  }

  #rawShape(params: Params) {
    const { plan, scenario } = this.#options;
    return probeOf(scenario, plan.program, params);
  }
}
