/**
 * Starts the test files that take longest first, so that no worker is left with one of them when the others are done. How
 * long one takes is known from its last run on this machine, else from `test-durations.json`, which
 * `node scripts/record-durations.mjs` writes anew from the last `npm test`.
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Seconds by file, from the root folder; one that is not in it is quick. */
const recorded: Record<string, number> = JSON.parse(
  readFileSync(new URL('./test-durations.json', import.meta.url), 'utf8'),
);

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const durations = new Map(files.map((file) => [file, this.#durationMs(file)]));
    return files.toSorted((a, b) => durations.get(b)! - durations.get(a)!);
  }

  #durationMs(file: TestSpecification): number {
    const last = this.ctx.cache.getTestSpecificationResult(file)?.duration;
    return last ?? (recorded[relative(this.ctx.config.root, file.moduleId)] ?? 0) * 1000;
  }
}
