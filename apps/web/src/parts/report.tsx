/** One HTML file of all charts on a page. A chart that stands inside a `ReportScope` is in its report. */
import { createContext, type ReactNode, type RefObject, useContext, useEffect, useRef } from 'react';
import type { SavedNotes } from '../charts/svg-document.ts';
import type { DataTable } from '../model/data-table.ts';
import type { ReportText } from '../model/html-report.ts';

export interface ReportedChart {
  title: string;
  text: string;
  svg: RefObject<SVGSVGElement | null>;
  table(): DataTable;
  saved: SavedNotes;
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

const loadWhatSaves = () => Promise.all([import('../model/html-report.ts'), import('./save-chart.ts')]);

export function SaveReport(props: {
  title: string;
  lead: string;
  provenance: string;
  fileName: string;
  /** The texts of the page besides its charts; called when the report is saved. */
  texts(): readonly ReportText[];
  /** Looks like a link, among links. */
  isLink?: boolean;
}) {
  const { title: reportTitle, lead, provenance, fileName, texts, isLink = false } = props;
  const charts = useContext(Scope);
  const save = async () => {
    const [{ htmlReport }, { saveBlob, svgTextOf }] = await loadWhatSaves();
    const inOrder = [...(charts ?? [])]
      .map(({ current }) => current)
      .filter(({ svg }) => svg.current !== null)
      .sort((a, b) =>
        a.svg.current!.compareDocumentPosition(b.svg.current!) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1,
      );
    const text = htmlReport({
      title: reportTitle,
      lead,
      provenance,
      texts: texts(),
      address: window.location.href,
      sections: inOrder.map(({ title, text: words, svg, table, saved }) => ({
        title,
        text: words,
        svg: svgTextOf(svg.current!, { title, ...saved }),
        table: table(),
      })),
    });
    saveBlob(new Blob([text], { type: 'text/html' }), `${fileName}.html`);
  };
  return (
    <button type="button" className={isLink ? 'link muted' : 'button'} onClick={() => void save()}>
      Save report
    </button>
  );
}
