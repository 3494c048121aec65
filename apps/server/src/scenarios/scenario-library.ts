/** Built-in scenarios, read once from the repository, and uploaded scenarios. */
import type { PlanFigures, Scale, Scenario, ScenarioEntry, ScenarioSource } from '@shardlab/contract';
import { LabError, parseScenario, planRun, readScenarioFolder } from '@shardlab/lab';
import { ServerError } from '../errors.ts';
import type { ScenarioStore } from '../store/scenario-store.ts';

export class ScenarioLibrary {
  readonly #builtIn: ReadonlyMap<string, Scenario>;
  readonly #uploaded: ScenarioStore;
  /** By scenario. Cached because a plan may have thousands of trials, too many to expand for each list request. */
  readonly #plans = new Map<string, ScenarioEntry['plans']>();

  private constructor(builtIn: ReadonlyMap<string, Scenario>, uploaded: ScenarioStore) {
    this.#builtIn = builtIn;
    this.#uploaded = uploaded;
  }

  /** An invalid file of the repository is left out and reported to `onFault`. */
  static async open(uploaded: ScenarioStore, onFault: (sentence: string) => void): Promise<ScenarioLibrary> {
    const builtIn = new Map<string, Scenario>();
    for (const { file, parsed } of await readScenarioFolder()) {
      if (parsed.ok) builtIn.set(parsed.scenario.id, parsed.scenario);
      else onFault(`scenarios/${file}: ${parsed.error.message}`);
    }
    return new ScenarioLibrary(builtIn, uploaded);
  }

  list(): ScenarioEntry[] {
    return [
      ...[...this.#builtIn.values()].map((scenario) => this.#entry(scenario, 'built-in')),
      ...this.#uploaded
        .list()
        .filter(({ id }) => !this.#builtIn.has(id)) // a newer version may bring a built-in scenario with the same id
        .map((scenario) => this.#entry(scenario, 'uploaded')),
    ];
  }

  /** Throws `SCENARIO_NOT_FOUND`. */
  get(id: string): ScenarioEntry {
    const builtIn = this.#builtIn.get(id);
    if (builtIn !== undefined) return this.#entry(builtIn, 'built-in');
    const uploaded = this.#uploaded.find(id);
    if (uploaded === undefined) throw notFound(id);
    return this.#entry(uploaded, 'uploaded');
  }

  /** Stores a scenario given as text. Throws `SCENARIO_INVALID`, `SCENARIO_TOO_LARGE`, `SCENARIO_EXISTS`, `SCENARIOS_FULL`. */
  upload(text: string, uploadedAtMs: number): Scenario {
    const parsed = parseScenario(text);
    if (!parsed.ok) throw parsed.error;
    const { id } = parsed.scenario;
    if (this.#builtIn.has(id)) {
      throw new ServerError('SCENARIO_EXISTS', {
        message: `A built-in scenario has the id "${id}"; choose another id`,
        details: { id },
      });
    }
    this.#uploaded.save(parsed.scenario, uploadedAtMs);
    this.#plans.delete(id);
    return parsed.scenario;
  }

  /** Throws `SCENARIO_BUILT_IN`, `SCENARIO_NOT_FOUND`. Runs of it keep their own copy. */
  remove(id: string): void {
    if (this.#builtIn.has(id)) throw new ServerError('SCENARIO_BUILT_IN', { details: { id } });
    if (!this.#uploaded.remove(id)) throw notFound(id);
    this.#plans.delete(id);
  }

  #entry(scenario: Scenario, source: ScenarioSource): ScenarioEntry {
    let plans = this.#plans.get(scenario.id);
    if (plans === undefined) {
      plans = { quick: planSummary(scenario, 'quick'), full: planSummary(scenario, 'full') };
      this.#plans.set(scenario.id, plans);
    }
    return { source, scenario, plans };
  }
}

export function planSummary(scenario: Scenario, scale: Scale): PlanFigures {
  const { trials, repeats, estimatedMs } = planRun(scenario, scale);
  return { points: trials.length / repeats, trials: trials.length, estimatedMs };
}

function notFound(id: string): LabError {
  return new LabError('SCENARIO_NOT_FOUND', {
    message: `There is no scenario "${id.slice(0, 64)}"`,
    details: { id: id.slice(0, 64) },
  });
}
