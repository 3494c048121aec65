/** Markdown tables, and sections of a document that commands write. */
import { readFile, writeFile } from 'node:fs/promises';
import { LabError } from '../errors/errors.ts';

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Where the text of a section begins and ends. Throws `DOCUMENT_SECTION_MISSING`. */
function sectionOf(path: string, document: string, name: string): { from: number; to: number } {
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const from = document.indexOf(start);
  const to = document.indexOf(end);
  if (from >= 0 && to >= from) return { from: from + start.length, to };
  throw new LabError('DOCUMENT_SECTION_MISSING', {
    message: `${path} has no section between "${start}" and "${end}"`,
    details: { path, section: name },
  });
}

/** Throws `DOCUMENT_SECTION_MISSING` if `writeSection` would: before an hour of measuring. */
export async function assertSection(path: string, name: string): Promise<void> {
  sectionOf(path, await readFile(path, 'utf8'), name);
}

/**
 * Replaces the text between `<!-- name -->` and `<!-- /name -->` in a document. Throws `DOCUMENT_SECTION_MISSING` if the
 * document has no such section, because a command must not guess where its table belongs.
 */
export async function writeSection(path: string, name: string, text: string): Promise<void> {
  const document = await readFile(path, 'utf8');
  const { from, to } = sectionOf(path, document, name);
  await writeFile(path, `${document.slice(0, from)}\n\n${text}\n\n${document.slice(to)}`);
}
