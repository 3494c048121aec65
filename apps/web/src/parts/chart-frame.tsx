import { type KeyboardEvent, type ReactNode, type RefObject, useId, useState } from 'react';
import type { LegendItem } from '../charts/svg-document.ts';
import type { DataTable } from '../model/data-table.ts';
import { DataTableView } from './data-table-view.tsx';
import { useReported } from './report.tsx';
import { saveCsv, savePng, saveSvg } from './save-chart.ts';

export interface ChartFrameProps {
  title: string;
  /** Empty for a chart whose title says it. */
  unit: string;
  /** Name of exported files, without extension. */
  fileName: string;
  /** Called when the table is shown or saved. */
  table(): DataTable;
  svg: RefObject<SVGSVGElement | null>;
  box: RefObject<HTMLDivElement | null>;
  legend?: ReactNode;
  /** What saved images say of their colours and of where the data come from. */
  saved?: { legend: readonly LegendItem[]; provenance: string };
  controls?: ReactNode;
  /** The values at the cursor, shown above the plot. */
  readout?: ReactNode;
  /** The readout as plain text, for screen readers. */
  spoken?: string;
  /** Position and range of the keyboard cursor; left out for a chart without one. */
  cursor?: { now: number; max: number; onKey(key: string): boolean };
  /** Minimum height of the plot, CSS pixels. */
  height: number;
  /** A remark below the plot. */
  note?: ReactNode;
}

/** The frame of every chart: title, unit, legend, plot with a keyboard cursor, data table and export. */
export function ChartFrame(props: ChartFrameProps) {
  const { title, unit, table, svg, box, cursor, height } = props;
  const [showsTable, setShowsTable] = useState(false);
  const titleId = useId();
  useReported({
    title,
    text: props.spoken ?? '',
    svg,
    table,
    ...(props.saved === undefined ? {} : { saved: props.saved }),
  });
  return (
    <figure className="panel chart" aria-labelledby={titleId}>
      <figcaption className="chart-head">
        <div>
          <h3 id={titleId}>{title}</h3>
          {unit === '' ? null : <p className="small muted">{unit}</p>}
        </div>
        <div className="chart-tools">
          <button
            type="button"
            className="button button-quiet"
            aria-pressed={showsTable}
            onClick={() => setShowsTable(!showsTable)}
          >
            Table
          </button>
          <SaveMenu {...props} />
        </div>
      </figcaption>
      {props.controls}
      {props.legend}
      {props.readout === undefined ? null : <p className="chart-readout">{props.readout}</p>}
      <div ref={box} className="chart-plot" style={{ minHeight: height }}>
        {cursor === undefined ? (
          <svg ref={svg} role="img" aria-label={title} />
        ) : (
          <div
            role="slider"
            tabIndex={0}
            aria-label={`${title}: cursor`}
            aria-valuemin={0}
            aria-valuemax={cursor.max}
            aria-valuenow={cursor.now}
            aria-valuetext={props.spoken ?? ''}
            onKeyDown={(event: KeyboardEvent) => {
              if (!event.ctrlKey && !event.metaKey && !event.altKey && cursor.onKey(event.key))
                event.preventDefault();
            }}
          >
            <svg ref={svg} aria-hidden="true" />
          </div>
        )}
      </div>
      {props.note === undefined ? null : <p className="small muted">{props.note}</p>}
      {showsTable ? <DataTableView table={table()} label={`${title}: data`} /> : null}
    </figure>
  );
}

function SaveMenu({ title, fileName, table, svg, saved }: ChartFrameProps) {
  const options = { title, fileName, ...saved };
  const items: { label: string; save(): void }[] = [
    { label: 'SVG image', save: () => saveSvg(svg.current!, options) },
    { label: 'PNG image', save: () => void savePng(svg.current!, options) },
    { label: 'CSV data', save: () => saveCsv(table(), options) },
  ];
  return (
    <details
      className="menu"
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) event.currentTarget.open = false;
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.currentTarget.open = false;
      }}
    >
      <summary className="button button-quiet" aria-label={`Save: ${title}`}>
        Save
      </summary>
      <div className="menu-items">
        {items.map(({ label, save }) => (
          <button
            key={label}
            type="button"
            className="button button-quiet"
            onClick={(event) => {
              save();
              event.currentTarget.closest('details')!.open = false;
            }}
          >
            {label}
          </button>
        ))}
      </div>
    </details>
  );
}
