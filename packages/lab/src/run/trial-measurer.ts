/** Measures the trials of a run, each with all that belongs to it. */
import type { KilledTrial, Scale, Scenario, Tick } from '@shardlab/contract';
import { measureLoop } from '../programs/load/measure-loop.ts';
import type { LoopCell } from '../programs/program.ts';
import { type RateProbe, rateProbeMs, type Surroundings } from '../surroundings/surroundings.ts';
import { loops } from '../systems/systems.ts';
import type { MeasuredRepeat, Trial, TrialOptions } from '../trial/trial.ts';
import { againShareMax, isWorthAnother, measureRepeat, NeverSteadyPoints } from './measure-repeat.ts';
import { loopCellOf, probeOf, withShares } from './measured-beside.ts';
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
  scale: Scale;
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
    const probes = this.#probes(options);
    return withShares(await surroundings.measure(probes, () => plan.program.run(options)), plan.program);
  }

  #probes({ trial, dir }: TrialOptions): RateProbe[] {
    const { plan, scenario, surroundings, scale, signal } = this.#options;
    const { program } = plan;
    const rawShape = probeOf(scenario, program, trial.params);
    const cell = loopCellOf(scenario, program, trial.params);
    const figure = program.figures[0]!.name;
    const measureMs = rateProbeMs[scale];
    const ofLoop = ({ driver, probe }: (typeof loops)[number], shape: LoopCell): RateProbe => ({
      name: probe,
      shape,
      perSec: () =>
        measureLoop(driver, shape, { scenario, dir: `${dir}-${driver}`, figure, measureMs, signal }),
    });
    return [
      ...(rawShape === null ? [] : [surroundings.rawProbe(rawShape)]),
      ...(cell === null ? [] : loops.map((loop) => ofLoop(loop, cell))),
    ];
  }
}
