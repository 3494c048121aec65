/** The model compared with several runs: a summary of all, then one table per run. */
import type { Run } from '@shardlab/contract';
import {
  type AgreementRow,
  agreementAim,
  agreementFigures,
  agreementOf,
  type FigureAgreement,
  type HardwareFile,
  sourcesInWords,
} from '@shardlab/model';
import { plural } from '../programs/figures-in-words.ts';
import { agreementTable, figureNames, signed } from './agreement-table.ts';
import { table } from './markdown.ts';

export interface RunAgreement {
  run: Run;
  rows: AgreementRow[];
}

export function agreementReport(hardware: HardwareFile, runs: readonly RunAgreement[]): string {
  const parts = runs.flatMap(({ run, rows }) => [
    `### ${run.scenario.title}`,
    runInWords(run),
    agreementTable(rows),
  ]);
  return [
    `**${hardware.title}.** ${hardware.about} ${sourcesInWords(hardware)}`,
    `Points whose simulated figure is within ${aim} of the measured one, and the median error. The same rule for every figure.`,
    countTable(runs),
    'Dequeue rates by figure, queue and instances:',
    groupTable(runs),
    ...parts,
  ].join('\n\n');
}

const aim = `${agreementAim * 100} %`;

/** How many points are within the aim, by run and for all runs together. */
function countTable(runs: readonly RunAgreement[]): string {
  const line = (name: string, rows: readonly AgreementRow[]) => [
    name,
    ...agreementFigures.map((figure) => countInWords(agreementOf(rows, figure))),
  ];
  const all = runs.flatMap(({ rows }) => rows);
  return table(
    ['figure', ...agreementFigures.map((figure) => figureNames[figure].title)],
    [...runs.map(({ run, rows }) => line(nameOf(run), rows)), line('all', all)],
  );
}

const countInWords = ({ within, of, medianError }: FigureAgreement) =>
  of === 0 ? 'not measured' : `${within} of ${of}, ${Math.round(medianError * 100)} %`;

const nameOf = ({ scenario }: Run) => scenario.figure ?? scenario.id;

/** Shows where the rates miss and in which direction. */
function groupTable(runs: readonly RunAgreement[]): string {
  const lines = runs.flatMap(({ run, rows }) => {
    const groups = Map.groupBy(
      rows,
      ({ kind, params }) => `${kind}, ${params.roundTripMs} ms, ${params.instances}`,
    );
    return [...groups.values()].map((group) => {
      const { kind, params } = group[0]!;
      const errors = group.flatMap(({ compared }) => compared.dequeuePerSec?.error ?? []);
      const { within, of } = agreementOf(group, 'dequeuePerSec');
      return [
        nameOf(run),
        kind,
        String(params.instances),
        String(params.roundTripMs),
        within === of ? String(of) : `**${within}** of ${of}`,
        of === 0 ? '–' : `${signed(Math.min(...errors))} to ${signed(Math.max(...errors))}`,
      ];
    });
  });
  return table(['figure', 'queue', 'instances', 'round trip ms', `within ${aim}`, 'errors'], lines);
}

/** The command and conditions of the run, so that the table can be reproduced. */
function runInWords({ scenario, scale, points, environment, endedAtMs, recordedOn }: Run): string {
  const repeats = points[0]?.repeats.length ?? 0;
  const when = endedAtMs === null ? '' : `, ${new Date(endedAtMs).toISOString().slice(0, 10)}`;
  const commit = environment?.commit ? `, commit ${environment.commit}` : '';
  const load = environment === null ? '' : `, load before ${environment.loadAverage}`;
  if (recordedOn !== undefined)
    return `The recording of \`${scenario.id}\`, ${plural(repeats, 'repeat')}, ${recordedOn}${commit}${load}.`;
  return `\`npm run lab -- run ${scenario.id}${scale === 'quick' ? ' --quick' : ''}\`, ${plural(repeats, 'repeat')}${when}${commit}${load}.`;
}
