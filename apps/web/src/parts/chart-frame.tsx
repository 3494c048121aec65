import { type KeyboardEvent, lazy, type ReactNode, type RefObject, Suspense, useId, useState } from 'react';
import type { SavedNotes } from '../charts/svg-document.ts';
import type { DataTable } from '../model/data-table.ts';
import { Loading } from './query-states.tsx';
import { useReported } from './report.tsx';
import { type SaveItem, SaveMenu } from './save-menu.tsx';

/** Loaded when a table is requested. */
const DataTableView = lazy(async () => ({
  default: (await import('./data-table-view.tsx')).DataTableView,
}));

/** Loaded when something is saved. */
const saving = () => import('./save-chart.ts');

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
  /** Legend and provenance of saved images. */
  saved: SavedNotes;
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
  useReported({ title, text: props.spoken ?? '', svg, table, saved: props.saved });
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
          <SaveMenu title={title} items={saveItems(props)} />
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
      {showsTable ? (
        <Suspense fallback={<Loading name="the table" />}>
          <DataTableView table={table()} label={`${title}: data`} />
        </Suspense>
      ) : null}
    </figure>
  );
}

const saveItems = ({ title, fileName, table, svg, saved }: ChartFrameProps): SaveItem[] => {
  const options = { title, fileName, ...saved };
  return [
    { label: 'SVG image', save: () => void saving().then(({ saveSvg }) => saveSvg(svg.current!, options)) },
    { label: 'PNG image', save: () => void saving().then(({ savePng }) => savePng(svg.current!, options)) },
    { label: 'CSV data', save: () => void saving().then(({ saveCsv }) => saveCsv(table(), options)) },
  ];
};
