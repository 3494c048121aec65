/** Built-in scenarios, read once from the repository, and uploaded scenarios. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Scenario, ScenarioEntry, ScenarioSource } from '@shardlab/contract';
import { LabError, parseScenario, planFigures, readScenarioFolder } from '@shardlab/lab';
import { ServerError } from '../errors.ts';
import type { ScenarioStore } from '../store/scenario-store.ts';

export class ScenarioLibrary {
  readonly #builtIn: ReadonlyMap<string, Scenario>;
  readonly #uploaded: ScenarioStore;
  /** By scenario. Cached because a list has hundreds of scenarios, and their sweeps hundreds of points each. */
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

  async list(): Promise<ScenarioEntry[]> {
    const entries = [...this.#builtIn.values()].map((scenario) => this.#entry(scenario, 'built-in'));
    for (const scenario of this.#uploaded.list()) {
      if (this.#builtIn.has(scenario.id)) continue; // a newer version may bring a built-in scenario with the same id
      if (!this.#plans.has(scenario.id)) await nextTurn(); // expanding a sweep takes up to 5 ms
      entries.push(this.#entry(scenario, 'uploaded'));
    }
    return entries;
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
      plans = { quick: planFigures(scenario, 'quick'), full: planFigures(scenario, 'full') };
      this.#plans.set(scenario.id, plans);
    }
    return { source, scenario, plans };
  }
}

function notFound(id: string): LabError {
  return new LabError('SCENARIO_NOT_FOUND', {
    message: `There is no scenario "${id.slice(0, 64)}"`,
    details: { id: id.slice(0, 64) },
  });
}
