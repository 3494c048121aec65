import { type KeyboardEvent, useRef } from 'react';
import {
  type CellState,
  type ClaimCell,
  cellLabels,
  cellMarks,
  countCells,
  describeCell,
  type MosaicRow,
  moveInRow,
} from '../model/mosaic.ts';

/** All claims, a row for each document and a cell for each claim: one tab stop a row, arrow keys within it. */
export function Mosaic(props: {
  rows: readonly MosaicRow[];
  /** Id of the claim that is shown; null for none. */
  selected: string | null;
  onSelect(id: string): void;
}) {
  const { rows, selected, onSelect } = props;
  return (
    <div className="mosaic">
      <MosaicLegend rows={rows} />
      {rows.map((row) => (
        <Row key={row.study} row={row} selected={selected} onSelect={onSelect} />
      ))}
    </div>
  );
}

function Row(props: { row: MosaicRow; selected: string | null; onSelect(id: string): void }) {
  const { row, selected, onSelect } = props;
  const list = useRef<HTMLUListElement>(null);
  const stop = Math.max(
    0,
    row.cells.findIndex(({ id }) => id === selected),
  );
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...(list.current?.querySelectorAll('button') ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const next = moveInRow(at, event.key, buttons.length);
    if (next === null) return;
    event.preventDefault();
    buttons[next]?.focus();
  };
  return (
    <section className="mosaic-row" aria-label={row.title}>
      <h3 className="small">{row.title}</h3>
      <ul ref={list} className="mosaic-cells" onKeyDown={onKeyDown}>
        {row.cells.map((cell, index) => (
          <li key={cell.id}>
            <Cell
              cell={cell}
              isSelected={cell.id === selected}
              isStop={index === stop}
              onSelect={() => onSelect(cell.id)}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Cell(props: { cell: ClaimCell; isSelected: boolean; isStop: boolean; onSelect(): void }) {
  const { cell, isSelected, isStop, onSelect } = props;
  return (
    <button
      type="button"
      className="cell"
      data-state={cell.state}
      data-provisional={cell.provisional ? '' : undefined}
      data-recorded={cell.isRecorded ? '' : undefined}
      aria-label={describeCell(cell)}
      aria-pressed={isSelected}
      title={describeCell(cell)}
      tabIndex={isStop ? 0 : -1}
      onClick={onSelect}
    >
      <span className="cell-mark" aria-hidden="true">
        {cellMarks[cell.state]}
      </span>
      <span aria-hidden="true">{cell.id}</span>
    </button>
  );
}

function MosaicLegend({ rows }: { rows: readonly MosaicRow[] }) {
  const counts = countCells(rows);
  const provisional = counts.reduce((sum, count) => sum + count.provisional, 0);
  const recorded = counts.reduce((sum, count) => sum + count.recorded, 0);
  return (
    <ul className="legend" aria-label="Verdicts">
      {counts.map(({ state, count }) => (
        <li key={state}>
          <CellSample state={state} />
          {cellLabels[state]} {count}
        </li>
      ))}
      {provisional === 0 ? null : (
        <li>
          <CellSample state="holds" provisional />
          Dashed: provisional {provisional}
        </li>
      )}
      {recorded === 0 ? null : (
        <li>
          <CellSample state="holds" recorded />
          Dot: recorded on another machine {recorded}
        </li>
      )}
    </ul>
  );
}

function CellSample(props: { state: CellState; provisional?: boolean; recorded?: boolean }) {
  const { state, provisional = false, recorded = false } = props;
  return (
    <span
      className="cell cell-sample"
      data-state={state}
      data-provisional={provisional ? '' : undefined}
      data-recorded={recorded ? '' : undefined}
      aria-hidden="true"
    >
      {provisional || recorded ? '' : cellMarks[state]}
    </span>
  );
}
