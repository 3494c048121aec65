/** Each claim names the place in its document and quotes the words that state it. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundledStudies } from '@shardlab/lab';
import { describe, expect, it } from 'vitest';

const { studies } = bundledStudies.describe();
const ofStudy = (id: string) => studies.find((study) => study.id === id)!;
/** Quotations are compared without the line breaks and runs of spaces that the layout of a document adds. */
const words = (text: string) => text.replace(/\s+/g, ' ');

/** The passages of a quotation that the text does not contain in this order. */
function missingIn(text: string, stated: string): string[] {
  let from = 0;
  return stated.split(' … ').filter((passage) => {
    const at = text.indexOf(words(passage), from);
    if (at !== -1) from = at + passage.length;
    return at === -1;
  });
}

describe('each claim', () => {
  it('has a place in its document and a quotation that no other claim of the study has', () => {
    for (const { id, claims, statements } of studies) {
      expect(statements.map(({ claim }) => claim)).toEqual(claims);
      for (const { claim, where, stated } of statements) {
        expect(where, claim).not.toBe('');
        expect(stated, claim).not.toBe('');
      }
      expect(new Set(statements.map(({ stated }) => stated)).size, id).toBe(claims.length);
    }
  });

  it('has a translation if and only if the document is not in English', () => {
    for (const { document, statements } of studies)
      for (const { claim, translation } of statements)
        expect(translation !== undefined, claim).toBe(document.language !== undefined);
  });

  it.each([
    ['A2', '76K dequeues per second', 'Figure 3'],
    ['A16', '150k combined enqueue and dequeue operations per second', 'Figure 9'],
    ['B2', '4到5倍', 'item 2'],
    ['X2', '5.062 [s]', 'Test 2'],
    ['D4', '> 90k messages per second', 'Case Study'],
    ['L3', '3.36', 'section 3'],
    ['S3', '13', 'My Example'],
  ])('has its number in the unit of the document: %s', (id, number, place) => {
    const statement = studies.flatMap(({ statements }) => statements).find(({ claim }) => claim === id);
    expect(statement?.stated).toContain(number);
    expect(statement?.where).toContain(place);
  });
});

describe('a quotation is in its document', () => {
  it('if the document is in this repository', async () => {
    const text = words(
      await readFile(fileURLToPath(new URL('../../../docs/distributed.md', import.meta.url)), 'utf8'),
    );
    for (const { claim, stated } of ofStudy('jetstream').statements)
      expect(missingIn(text, stated), claim).toEqual([]);
  });

  const folder = process.env.DOCUMENTS;
  it.skipIf(folder === undefined)(
    'if the document is published elsewhere and its text is in the folder DOCUMENTS',
    async () => {
      const names = (await readdir(folder!)).filter((name) => name.endsWith('.txt'));
      const texts = await Promise.all(
        names.map(async (name) => words(await readFile(join(folder!, name), 'utf8'))),
      );
      const published = studies.filter(({ id }) => id !== 'jetstream' && id !== 'peers');
      for (const { claim, stated } of published.flatMap(({ statements }) => statements))
        expect(
          texts.some((text) => missingIn(text, stated).length === 0),
          `${claim}: ${stated}`,
        ).toBe(true);
    },
  );
});
