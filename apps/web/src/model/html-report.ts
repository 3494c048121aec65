/** A report as one HTML file that opens without a network: texts, drawings and tables, no script. */
import type { DataTable } from './data-table.ts';

/** Texts of the page besides its charts. */
export interface ReportText {
  title: string;
  facts: readonly { name: string; value: string }[];
  paragraphs: readonly string[];
  /** A list below the paragraphs. */
  items: readonly string[];
}

export interface ReportSection {
  title: string;
  /** The values in words. */
  text: string;
  /** A stand-alone SVG document; its tokens are resolved. */
  svg: string;
  table: DataTable;
}

export interface Report {
  title: string;
  lead: string;
  /** Provenance of the figures. */
  provenance: string;
  /** Address of the page, so that a reader with access to the server finds it again. */
  address: string;
  /** Before the charts. */
  texts: readonly ReportText[];
  sections: readonly ReportSection[];
}

const style = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
  background: light-dark(#f4f3ee, #0e1214); color: light-dark(#1a1d1f, #e9e7e1); }
section { margin-block: 2.5rem; }
svg { height: auto; max-width: 100%; }
.muted { color: light-dark(#62686d, #939a9f); font-size: 0.85rem; }
dl { display: grid; gap: 0.25rem 1.5rem; grid-template-columns: max-content 1fr; }
dt { color: light-dark(#62686d, #939a9f); }
dd { margin: 0; }
.scroll { max-height: 24rem; overflow: auto; }
table { border-collapse: collapse; font-size: 0.85rem; }
th, td { border-bottom: 1px solid light-dark(#e2dfd6, #262d31); padding: 0.25rem 0.6rem; text-align: left; white-space: nowrap; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
`;

export function htmlReport({ title, lead, provenance, address, texts, sections }: Report): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeHtml(title)}</title>`,
    `<style>${style}</style>`,
    '</head>',
    '<body>',
    `<h1>${escapeHtml(title)}</h1>`,
    `<p>${escapeHtml(lead)}</p>`,
    `<p class="muted">${escapeHtml(provenance)}<br>${escapeHtml(address)}</p>`,
    ...texts.map(textHtml),
    ...sections.map(sectionHtml),
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

const textHtml = ({ title, facts, paragraphs, items }: ReportText): string =>
  [
    '<section>',
    `<h2>${escapeHtml(title)}</h2>`,
    ...(facts.length === 0
      ? []
      : [
          `<dl>${facts.map(({ name, value }) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`).join('')}</dl>`,
        ]),
    ...paragraphs.map((text) => `<p>${escapeHtml(text)}</p>`),
    ...(items.length === 0
      ? []
      : [`<ul>${items.map((item) => `<li>${escapeHtml(item)}</li>`).join('')}</ul>`]),
    '</section>',
  ].join('\n');

const sectionHtml = ({ title, text, svg, table }: ReportSection): string =>
  [
    '<section>',
    `<h2>${escapeHtml(title)}</h2>`,
    text === '' ? '' : `<p>${escapeHtml(text)}</p>`,
    svg,
    `<details><summary>Data</summary><div class="scroll" tabindex="0" role="region" aria-label="${escapeHtml(title)}: data">${tableHtml(table)}</div></details>`,
    '</section>',
  ].join('\n');

function tableHtml({ columns, rows }: DataTable): string {
  const head = columns.map((column) => `<th scope="col">${escapeHtml(column)}</th>`).join('');
  const body = rows
    .map(
      (row) =>
        `<tr>${row
          .map((cell) =>
            typeof cell === 'number'
              ? `<td class="number">${cell}</td>`
              : `<td>${cell === null ? '–' : escapeHtml(cell)}</td>`,
          )
          .join('')}</tr>`,
    )
    .join('');
  return `<table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
