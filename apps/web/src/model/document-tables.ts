/** Reads the numbers of documents, which come from the server as tables. */
import type { DocumentTable, StudyList } from '@shardlab/contract';

type Cell = DocumentTable['rows'][number][number];

/** The table of a study, by their ids; undefined if there is none. */
export const findTable = (
  list: Pick<StudyList, 'studies'> | undefined,
  study: string | undefined,
  id: string,
): DocumentTable | undefined =>
  list?.studies.find((each) => each.id === study)?.tables.find((table) => table.id === id);

/** Rows as objects by the names of the columns. */
export const rowsByName = ({ columns, rows }: DocumentTable): Record<string, Cell>[] =>
  rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index] ?? null])));
