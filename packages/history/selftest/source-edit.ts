/** A change of a source file of the engine: `find` must be there exactly once. */
export interface SourceEdit {
  /** Below `packages/engine/src`. */
  file: string;
  find: string;
  replace: string;
}

/** Throws if a text is not found exactly once. */
export function applyEdits(source: string, edits: readonly SourceEdit[]): string {
  let edited = source;
  for (const { file, find, replace } of edits) {
    const count = edited.split(find).length - 1;
    if (count !== 1) throw new Error(`${count} times in ${file}, not once: ${find}`);
    edited = edited.replace(find, () => replace);
  }
  return edited;
}
