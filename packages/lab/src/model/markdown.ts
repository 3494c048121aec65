/** Markdown tables, and sections of a document that commands write. */
import { readFile, writeFile } from 'node:fs/promises';
import { LabError } from '../errors.ts';

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/**
 * Replaces the text between `<!-- name -->` and `<!-- /name -->` in a document. Throws `DOCUMENT_SECTION_MISSING` if the
 * document has no such section, because a command must not guess where its table belongs.
 */
export async function writeSection(path: string, name: string, text: string): Promise<void> {
  const document = await readFile(path, 'utf8');
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const from = document.indexOf(start);
  const to = document.indexOf(end);
  if (from < 0 || to < from) {
    throw new LabError('DOCUMENT_SECTION_MISSING', {
      message: `${path} has no section between "${start}" and "${end}"`,
      details: { path, section: name },
    });
  }
  await writeFile(path, `${document.slice(0, from + start.length)}\n\n${text}\n\n${document.slice(to)}`);
}
