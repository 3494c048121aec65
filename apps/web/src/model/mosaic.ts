/** The claims of all documents as cells: the result for each, shown by a mark, a word and a tone. */
import type { ClaimLedgerEntry, StudyInfo, Verdict } from '@shardlab/contract';
import { describeVerdictCount, verdictLabel, verdictLabelsAnywhere } from './verdicts.ts';

export type CellState = Verdict | 'unjudged';

export interface ClaimCell {
  id: string;
  title: string;
  state: CellState;
  provisional: boolean;
  /** The verdict is of a run that comes with the lab. */
  isRecorded: boolean;
}

export interface MosaicRow {
  study: string;
  letter: string;
  title: string;
  cells: ClaimCell[];
}

/** A character for each state, so that colour is not the only sign. */
export const cellMarks: Readonly<Record<CellState, string>> = {
  holds: '✓',
  mixed: '◐',
  'does-not-hold': '✕',
  inconclusive: '?',
  'not-comparable': '≠',
  unjudged: '',
};

/** Labels of the mosaic's legend, which counts results from here and elsewhere. */
export const cellLabels: Readonly<Record<CellState, string>> = {
  ...verdictLabelsAnywhere,
  unjudged: 'Not judged yet',
};

export const cellOf = ({ id, title, last }: ClaimLedgerEntry): ClaimCell => ({
  id,
  title,
  state: last?.verdict ?? 'unjudged',
  provisional: last?.provisional ?? false,
  isRecorded: last !== null && last.recordedOn !== null,
});

/** "A1, holds here, provisional: Sharded dequeues scale in a straight line", "A2, holds (recorded): …" */
export function describeCell({ id, title, state, provisional, isRecorded }: ClaimCell): string {
  const found =
    state === 'unjudged' ? cellLabels[state] : verdictLabel({ verdict: state, provisional, isRecorded });
  return `${id}, ${found.toLowerCase()}: ${title}`;
}

/** A row for each document, in the order of the studies; those without claims are left out. */
export function mosaicRows(studies: readonly StudyInfo[], claims: readonly ClaimLedgerEntry[]): MosaicRow[] {
  return studies
    .map(({ id, document }) => ({
      study: id,
      letter: document.letter ?? '',
      title: document.title,
      cells: claims.filter(({ study }) => study === id).map(cellOf),
    }))
    .filter(({ cells }) => cells.length > 0);
}

export interface CellCount {
  state: CellState;
  count: number;
  /** How many of them are provisional. */
  provisional: number;
  /** How many of them were recorded on another machine. */
  recorded: number;
}

/** Number of cells in each state, in the order of `cellLabels`, including zeros. */
export function countCells(rows: readonly MosaicRow[]): CellCount[] {
  const cells = rows.flatMap((row) => row.cells);
  return (Object.keys(cellLabels) as CellState[]).map((state) => {
    const ofState = cells.filter((cell) => cell.state === state);
    return {
      state,
      count: ofState.length,
      provisional: ofState.filter((cell) => cell.provisional).length,
      recorded: ofState.filter((cell) => cell.isRecorded).length,
    };
  });
}

/** The cell to which a key moves in a row of `count` cells; null for other keys. */
export function moveInRow(index: number, key: string, count: number): number | null {
  const target: Readonly<Record<string, number>> = {
    ArrowRight: index + 1,
    ArrowLeft: index - 1,
    Home: 0,
    End: count - 1,
  };
  const next = target[key];
  return next === undefined ? null : Math.min(count - 1, Math.max(0, next));
}

/** "12 hold here (3 provisionally)", "4 not judged yet" */
export const describeCellCount = ({ state, ...counts }: CellCount): string =>
  state === 'unjudged'
    ? `${counts.count} not judged yet`
    : describeVerdictCount({ verdict: state, ...counts });
