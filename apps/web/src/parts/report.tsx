/** One HTML file of all charts on a page. A chart that stands inside a `ReportScope` is in its report. */
import { createContext, type ReactNode, type RefObject, useContext, useEffect, useRef } from 'react';
import type { LegendItem } from '../charts/svg-document.ts';
import type { DataTable } from '../model/data-table.ts';
import { htmlReport } from '../model/html-report.ts';
import { saveBlob, svgTextOf } from './save-chart.ts';

export interface ReportedChart {
  title: string;
  text: string;
  svg: RefObject<SVGSVGElement | null>;
  table(): DataTable;
  saved?: { legend: readonly LegendItem[]; provenance: string };
}

type Charts = Set<RefObject<ReportedChart>>;

const Scope = createContext<Charts | null>(null);

export function ReportScope({ children }: { children: ReactNode }) {
  const charts = useRef<Charts>(new Set());
  return <Scope value={charts.current}>{children}</Scope>;
}

/** Makes a chart part of the report of the scope around it, if there is one, for as long as it is shown. */
export function useReported(chart: ReportedChart): void {
  const charts = useContext(Scope);
  const latest = useRef(chart);
  latest.current = chart;
  useEffect(() => {
    if (charts === null) return;
    charts.add(latest);
    return () => void charts.delete(latest);
  }, [charts]);
}

export function SaveReport(props: { title: string; lead: string; provenance: string; fileName: string }) {
  const charts = useContext(Scope);
  const save = () => {
    const inOrder = [...(charts ?? [])]
      .map(({ current }) => current)
      .filter(({ svg }) => svg.current !== null)
      .sort((a, b) =>
        a.svg.current!.compareDocumentPosition(b.svg.current!) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1,
      );
    const text = htmlReport({
      ...props,
      address: window.location.href,
      sections: inOrder.map(({ title, text: words, svg, table, saved }) => ({
        title,
        text: words,
        svg: svgTextOf(svg.current!, { title, ...saved }),
        table: table(),
      })),
    });
    saveBlob(new Blob([text], { type: 'text/html' }), `${props.fileName}.html`);
  };
  return (
    <button type="button" className="button" onClick={save}>
      Save report
    </button>
  );
}
