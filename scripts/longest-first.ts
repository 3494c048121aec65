/**
 * Starts the test files that take longest first, so that no worker is left with one of them when the others are done. Files are
 * grouped by project, because a worker continues with the next file only if it belongs to the same project. The duration of a
 * file is that of its last run on this machine, or else from `test-durations.json`, which `node scripts/record-durations.mjs`
 * rewrites from the last `npm test`.
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Durations in seconds, by path from the root folder; files that are not listed are quick. */
const recorded: Record<string, number> = JSON.parse(
  readFileSync(new URL('./test-durations.json', import.meta.url), 'utf8'),
);

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const timed = files.map((file) => ({ file, durationMs: this.#durationMs(file) }));
    const longestOf = new Map<string, number>();
    for (const { file, durationMs } of timed) {
      const { name } = file.project;
      longestOf.set(name, Math.max(longestOf.get(name) ?? 0, durationMs));
    }
    const longestOfProject = ({ file }: (typeof timed)[number]) => longestOf.get(file.project.name)!;
    return timed
      .toSorted((a, b) => longestOfProject(b) - longestOfProject(a) || b.durationMs - a.durationMs)
      .map(({ file }) => file);
  }

  #durationMs(file: TestSpecification): number {
    const last = this.ctx.cache.getTestSpecificationResult(file)?.duration;
    return last ?? (recorded[relative(this.ctx.config.root, file.moduleId)] ?? 0) * 1000;
  }
}
