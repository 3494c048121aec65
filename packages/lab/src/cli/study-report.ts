/** The report of a study as Markdown: its claims, and a table for each of its scenarios. */
import {
  type ClaimResult,
  type Figure,
  type FigureInfo,
  figureOf,
  type Point,
  type Run,
  type Scale,
} from '@shardlab/contract';
import { table } from '../model/markdown.ts';
import { bundledStudies } from '../studies/registry.ts';
import type { Study } from '../studies/study.ts';
import {
  conditionsInWords,
  environmentInWords,
  figureInWords,
  integrityInWords,
  paramCell,
  unitOf,
  variedAndSorted,
} from './result-table.ts';

export function studyReport(report: {
  study: Study;
  runs: readonly Run[];
  /** Why scenarios or systems are left out, a sentence for each reason. */
  absent: readonly string[];
  /** Of the servers and client libraries that were measured. */
  versions: readonly string[];
  scale: Scale;
}): string {
  const { study, runs, absent, versions, scale } = report;
  const environment = runs.find((run) => run.environment !== null)?.environment;
  const failed = runs.flatMap(({ scenario, error }) =>
    error === null ? [] : [`${scenario.id}: ${error.message}`],
  );
  return [
    ...(environment == null
      ? []
      : [`${environmentInWords(environment)}; commit ${environment.commit ?? 'unknown'}.`]),
    ...(versions.length === 0 ? [] : [`Others: ${versions.join(', ')}.`]),
    `Scale: ${scale}. Figures are medians of the repeats (lowest–highest).`,
    `### Claims\n\n${claimTable(runs)}`,
    ...runs.map((run) => scenarioSection(run, study)),
    ...(absent.length + failed.length === 0
      ? []
      : [`### Not measured\n\n${[...absent, ...failed].map((line) => `- ${line}`).join('\n')}`]),
  ].join('\n\n');
}

function claimTable(runs: readonly Run[]): string {
  const rows = runs.flatMap(({ claims }) => claims.map(claimRow));
  const sorted = rows.toSorted(([a = ''], [b = '']) => a.localeCompare(b, 'en', { numeric: true }));
  return sorted.length === 0 ? '' : table(['claim', '', 'measured', 'verdict', 'from'], sorted);
}

function claimRow({ id, title, value, unit, interval, verdict, provisional, reason }: ClaimResult): string[] {
  const range = interval === null ? '' : ` (${interval.map(figureInWords).join('–')})`;
  return [
    id,
    title,
    value === null ? '–' : `${figureInWords(value)}${range} ${unit}`,
    `${verdict.replaceAll('-', ' ')}${provisional ? ', provisional' : ''}`,
    reason.replaceAll('|', '\\|'),
  ];
}

function scenarioSection(
  { scenario, points, scale, recordedOn }: Run,
  { reportFigures = {} }: Study,
): string {
  const program = bundledStudies.program(scenario.program);
  const wanted = reportFigures[program.id];
  const shown = program.figures.filter(
    ({ name }) =>
      (wanted === undefined || wanted.includes(name)) && points.some((point) => name in point.figures),
  );
  const { varied, sorted } = variedAndSorted(points, program);
  const titles = new Map(program.systems.map(({ id, title }) => [id, title]));
  const head = [
    'system',
    ...varied.map(({ title }) => title),
    ...shown.map(({ label, format }) => `${label}${unitOf[format]}`),
    'repeats',
    'integrity',
  ];
  const rows = sorted.map((point) => [
    titles.get(point.system) ?? point.system,
    ...varied.map(({ name }) => paramCell(point.params[name])),
    ...shown.map((figure) => cellOf(point, figure)),
    conditionsInWords(point),
    integrityInWords(point),
  ]);
  const command = `\`npm run lab -- run ${scenario.id}${scale === 'quick' ? ' --quick' : ''}\``;
  const recorded = recordedOn === undefined ? '' : `; recorded on ${recordedOn}`;
  return [`### ${scenario.title}`, `${scenario.question} ${command}${recorded}`, table(head, rows)].join(
    '\n\n',
  );
}

function cellOf(point: Point, { name }: FigureInfo): string {
  const figure: Figure | undefined = point.figures[name];
  if (figure === undefined) return '–';
  const value = figureInWords(figureOf(point, name));
  const [low, high] = [Math.min(...figure.repeats), Math.max(...figure.repeats)].map(figureInWords);
  return low === high ? value : `${value} (${low}–${high})`;
}
