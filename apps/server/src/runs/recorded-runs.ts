/**
 * The runs at full scale that come with the lab: shown, marked as recorded, until this machine has its own. They can be read
 * and exported as this server's runs can, and neither cancelled nor deleted. Their points stay in compressed files, and are
 * sent as they are stored.
 */
import type { RecordedRunSummary, Run } from '@shardlab/contract';
import {
  listRecorded,
  type RecordedHead,
  type RecordedText,
  type RecordedVerdict,
  readRecorded,
  recordedVerdicts,
} from '@shardlab/lab';

export class RecordedRuns {
  readonly #folder: string | undefined;
  readonly #heads: ReadonlyMap<string, RecordedHead>;
  readonly verdicts: readonly RecordedVerdict[];

  private constructor(folder: string | undefined, heads: readonly RecordedHead[]) {
    this.#folder = folder;
    this.#heads = new Map(heads.map((head) => [head.run.id, head]));
    this.verdicts = recordedVerdicts(heads);
  }

  /** `folder`: default the repository's. `onDamage` is told of a file that cannot be read. */
  static async open(folder: string | undefined, onDamage: (sentence: string) => void): Promise<RecordedRuns> {
    return new RecordedRuns(folder, await listRecorded(folder, onDamage));
  }

  has(id: string): boolean {
    return this.#heads.has(id);
  }

  /** A run without its points; undefined if none of them has this id. */
  head(id: string): Run | undefined {
    return this.#heads.get(id)?.run;
  }

  /** Lists the runs in the order of their scenarios' ids. */
  list(): RecordedRunSummary[] {
    return [...this.#heads.values()].map(({ run }) => ({
      id: run.id,
      scenarioId: run.scenario.id,
      scenarioTitle: run.scenario.title,
      scale: run.scale,
      status: run.status,
      createdAtMs: run.createdAtMs,
      startedAtMs: run.startedAtMs,
      endedAtMs: run.endedAtMs,
      progress: run.progress,
      verdicts: run.claims.map(({ id, verdict, provisional }) => ({ id, verdict, provisional })),
      recordedOn: run.recordedOn,
    }));
  }

  /** Run and ticks as JSON; undefined if none of them has this id. */
  async json(id: string): Promise<{ run: string; ticks: string } | undefined> {
    const text = await this.#text(id);
    if (text === undefined) return undefined;
    const { points: _points, ...head } = text.run;
    const run = `${JSON.stringify(head).slice(0, -1)},"points":[${text.pointsJson.join(',')}]}`;
    return { run, ticks: text.ticksJson };
  }

  /** The ticks of a run as JSON; undefined if none of them has this id. */
  async ticksJson(id: string): Promise<string | undefined> {
    return (await this.#text(id))?.ticksJson;
  }

  /** The points of a run as JSON. */
  async *pointsJson(id: string): AsyncGenerator<string> {
    yield* (await this.#text(id))?.pointsJson ?? [];
  }

  async #text(id: string): Promise<RecordedText | undefined> {
    const head = this.#heads.get(id);
    return head === undefined ? undefined : readRecorded(head.run.scenario.id, this.#folder);
  }
}
