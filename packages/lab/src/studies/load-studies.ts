/** Finds the studies: each folder that has a `study.ts` is one, so a new study is listed nowhere. */
import { existsSync, readdirSync } from 'node:fs';
import type { Study } from './study.ts';

/** `.ts` in the repository, `.js` in a published package. */
const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));

/**
 * The studies in the folder, in the order of their documents' letters; those of documents without a letter come last. Throws
 * if a folder's study has another name than the folder.
 */
export async function loadStudies(folder: URL): Promise<Study[]> {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const modules = names
    .map((name) => ({ name, module: new URL(`${name}/study${extension}`, folder) }))
    .filter(({ module }) => existsSync(module));
  const studies = await Promise.all(
    modules.map(async ({ name, module }) => {
      const { study } = (await import(module.href)) as { study: Study };
      if (study.id !== name) throw new RangeError(`the study in ${name} is named ${study.id}`);
      return study;
    }),
  );
  const rank = ({ document: { letter }, id }: Study) => `${letter ?? '~'}${id}`;
  return studies.toSorted((a, b) => rank(a).localeCompare(rank(b)));
}
