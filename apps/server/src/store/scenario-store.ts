/** Stores uploaded scenarios. */
import type { Scenario } from '@shardlab/contract';
import { ServerError } from '../errors.ts';
import type { LabDatabase } from './lab-database.ts';

export class ScenarioStore {
  readonly #file: LabDatabase;
  readonly #max: number;

  constructor(file: LabDatabase, max: number) {
    this.#file = file;
    this.#max = max;
  }

  /** Oldest first. */
  list(): Scenario[] {
    const bodies = this.#file
      .prepare('SELECT body FROM scenario ORDER BY uploaded_at_ms, id')
      .pluck()
      .all() as string[];
    return bodies.map((body) => JSON.parse(body));
  }

  find(id: string): Scenario | undefined {
    const body = this.#file.prepare('SELECT body FROM scenario WHERE id = ?').pluck().get(id) as
      | string
      | undefined;
    return body === undefined ? undefined : JSON.parse(body);
  }

  /** Adds a scenario, or replaces the one with the same id. Throws `SCENARIOS_FULL`. */
  save(scenario: Scenario, uploadedAtMs: number): void {
    const others = this.#file
      .prepare('SELECT count(*) FROM scenario WHERE id <> ?')
      .pluck()
      .get(scenario.id) as number;
    if (others >= this.#max) {
      throw new ServerError('SCENARIOS_FULL', {
        message: `Too many uploaded scenarios (limit ${this.#max}); delete one first`,
        details: { max: this.#max },
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
