/** Stores uploaded scenarios. */
import { Scenario } from '@shardlab/contract';
import { ServerError } from '../errors.ts';
import type { LabDatabase } from './lab-database.ts';
import { readStored } from './stored-json.ts';

export interface ScenarioStoreOptions {
  /** Scenarios kept. */
  max: number;
  /** Told in a sentence of one that cannot be read, whenever it is asked for. */
  onDamage?: (sentence: string) => void;
}

interface ScenarioRow {
  id: string;
  body: string;
}

export class ScenarioStore {
  readonly #file: LabDatabase;
  readonly #options: ScenarioStoreOptions;

  constructor(file: LabDatabase, options: ScenarioStoreOptions) {
    this.#file = file;
    this.#options = options;
  }

  /** Those that can be read, oldest first. */
  list(): Scenario[] {
    const rows = this.#file
      .prepare('SELECT id, body FROM scenario ORDER BY uploaded_at_ms, id')
      .all() as ScenarioRow[];
    return rows.flatMap((row) => this.#read(row) ?? []);
  }

  /** Undefined if there is none, or none that can be read. */
  find(id: string): Scenario | undefined {
    const row = this.#file.prepare('SELECT id, body FROM scenario WHERE id = ?').get(id) as
      | ScenarioRow
      | undefined;
    return row === undefined ? undefined : this.#read(row);
  }

  #read({ id, body }: ScenarioRow): Scenario | undefined {
    const { value, damage } = readStored<Scenario>(body, Scenario);
    if (damage !== undefined) this.#options.onDamage?.(`The uploaded scenario ${id} ${damage}`);
    return value;
  }

  /** Adds a scenario, or replaces the one with the same id. Throws `SCENARIOS_FULL`. */
  save(scenario: Scenario, uploadedAtMs: number): void {
    const others = this.#file
      .prepare('SELECT count(*) FROM scenario WHERE id <> ?')
      .pluck()
      .get(scenario.id) as number;
    if (others >= this.#options.max) {
      throw new ServerError('SCENARIOS_FULL', {
        message: `Too many uploaded scenarios (limit ${this.#options.max}); delete one first`,
        details: { max: this.#options.max },
      });
    }
    this.#file
      .prepare('INSERT OR REPLACE INTO scenario (id, body, uploaded_at_ms) VALUES (?, ?, ?)')
      .run(scenario.id, JSON.stringify(scenario), uploadedAtMs);
  }

  /** Returns whether the scenario existed. */
  remove(id: string): boolean {
    return this.#file.prepare('DELETE FROM scenario WHERE id = ?').run(id).changes === 1;
  }
}
