/** Built-in scenarios and lessons, read once from the repository and the folders of studies, and uploaded scenarios. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Lesson, LessonEntry, Scenario, ScenarioEntry, ScenarioSource } from '@shardlab/contract';
import {
  LabError,
  parseScenario,
  planFigures,
  readLessonFolder,
  readScenarios,
  type StudyRegistry,
} from '@shardlab/lab';
import { ServerError } from '../errors.ts';
import type { ScenarioStore } from '../store/scenario-store.ts';

export interface ScenarioLibraryOptions {
  uploaded: ScenarioStore;
  /** The studies that scenarios may name; those with scenarios in their folders bring them. */
  studies: StudyRegistry;
  /** Told of an invalid scenario, which is left out. */
  onFault: (sentence: string) => void;
}

export class ScenarioLibrary {
  readonly #builtIn: ReadonlyMap<string, Scenario>;
  /** Lessons by the id of their scenario, in listing order. */
  readonly #lessons: ReadonlyMap<string, Lesson>;
  readonly #uploaded: ScenarioStore;
  readonly #studies: StudyRegistry;
  readonly #onFault: (sentence: string) => void;
  /** Plans by scenario. Cached because a list has hundreds of scenarios, whose sweeps have hundreds of points each. */
  readonly #plans = new Map<string, ScenarioEntry['plans']>();

  private constructor(
    builtIn: ReadonlyMap<string, Scenario>,
    lessons: readonly Lesson[],
    { uploaded, studies, onFault }: ScenarioLibraryOptions,
  ) {
    this.#builtIn = builtIn;
    this.#lessons = new Map(lessons.map((lesson) => [lesson.scenario.id, lesson]));
    this.#uploaded = uploaded;
    this.#studies = studies;
    this.#onFault = onFault;
  }

  static async open(options: ScenarioLibraryOptions): Promise<ScenarioLibrary> {
    const { onFault } = options;
    const { scenarios, lessons: lessonFiles } = await readBuiltIn(options.studies);
    const builtIn = new Map<string, Scenario>();
    for (const { file, parsed } of scenarios) {
      if (parsed.ok) builtIn.set(parsed.scenario.id, parsed.scenario);
      else onFault(`${file}: ${parsed.error.message}`);
    }
    const lessons: Lesson[] = [];
    for (const { file, read } of lessonFiles) {
      if (read instanceof LabError) onFault(`scenarios/lessons/${file}: ${read.message}`);
      else lessons.push(read);
    }
    lessons.sort((a, b) => a.position - b.position);
    return new ScenarioLibrary(builtIn, lessons, options);
  }

  /** The lessons in their order. Their scenarios are not in `list`. */
  lessons(): LessonEntry[] {
    return [...this.#lessons.values()].map((lesson) => ({
      lesson,
      estimatedMs: this.#entry(lesson.scenario, 'built-in').plans.quick.estimatedMs,
    }));
  }

  async list(): Promise<ScenarioEntry[]> {
    const entries = [...this.#builtIn.values()].map((scenario) => this.#entry(scenario, 'built-in'));
    for (const scenario of this.#uploaded.list()) {
      if (this.#isBuiltIn(scenario.id)) continue; // a newer version may bring a built-in scenario with the same id
      if (!this.#plans.has(scenario.id)) await nextTurn(); // expanding a sweep takes up to 5 ms
      try {
        entries.push(this.#entry(scenario, 'uploaded'));
      } catch (error) {
        // It may be of a study that is no longer loaded.
        this.#onFault(`The uploaded scenario ${scenario.id} cannot be planned: ${(error as Error).message}`);
      }
    }
    return entries;
  }

  /** Returns a scenario, which may be that of a lesson. Throws `SCENARIO_NOT_FOUND`. */
  get(id: string): ScenarioEntry {
    const builtIn = this.#builtIn.get(id) ?? this.#lessons.get(id)?.scenario;
    if (builtIn !== undefined) return this.#entry(builtIn, 'built-in');
    const uploaded = this.#uploaded.find(id);
    if (uploaded === undefined) throw notFound(id);
    return this.#entry(uploaded, 'uploaded');
  }

  /** Stores a scenario given as text. Throws `SCENARIO_INVALID`, `SCENARIO_TOO_LARGE`, `SCENARIO_EXISTS`, `SCENARIOS_FULL`. */
  upload(text: string, uploadedAtMs: number): Scenario {
    const parsed = parseScenario(text, this.#studies);
    if (!parsed.ok) throw parsed.error;
    const { id } = parsed.scenario;
    if (this.#isBuiltIn(id)) {
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
    if (this.#isBuiltIn(id)) throw new ServerError('SCENARIO_BUILT_IN', { details: { id } });
    if (!this.#uploaded.remove(id)) throw notFound(id);
    this.#plans.delete(id);
  }

  #isBuiltIn(id: string): boolean {
    return this.#builtIn.has(id) || this.#lessons.has(id);
  }

  #entry(scenario: Scenario, source: ScenarioSource): ScenarioEntry {
    let plans = this.#plans.get(scenario.id);
    if (plans === undefined) {
      plans = {
        quick: planFigures(scenario, 'quick', this.#studies),
        full: planFigures(scenario, 'full', this.#studies),
      };
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

const builtInFiles = new WeakMap<StudyRegistry, ReturnType<typeof readFiles>>();

/** Built-in files do not change while a process runs, so several apps of one process read them once. */
function readBuiltIn(studies: StudyRegistry): ReturnType<typeof readFiles> {
  const known = builtInFiles.get(studies);
  if (known !== undefined) return known;
  const files = readFiles(studies);
  builtInFiles.set(studies, files);
  return files;
}

async function readFiles(studies: StudyRegistry) {
  const [scenarios, lessons] = await Promise.all([readScenarios(studies), readLessonFolder()]);
  return { scenarios, lessons };
}
