/** The model compared with several runs: a summary of all, then one table per run. */
import type { Run } from '@shardlab/contract';
import { type Agreement, type AgreementRow, agreementAim, type HardwareFile, median } from '@shardlab/model';
import { table } from './markdown.ts';
import { agreementTable, signed } from './model-tables.ts';

export interface RunAgreement {
  run: Run;
  agreement: Agreement;
}

export function agreementReport(hardware: HardwareFile, runs: readonly RunAgreement[]): string {
  const rows = runs.flatMap(({ agreement }) => agreement.rows);
  const parts = runs.flatMap(({ run, agreement }) => [
    `### ${run.scenario.title}`,
    runInWords(run),
    agreementTable(agreement),
  ]);
  return [`**${hardware.title}.** ${hardware.about}`, overall(rows), groupTable(runs), ...parts].join('\n\n');
}

function overall(rows: readonly AgreementRow[]): string {
  const errors = rows.map(errorOf);
  const within = errors.filter((error) => error <= agreementAim).length;
  const middle = Math.round(median(errors) * 100);
  return `For ${within} of all ${rows.length} points the simulated rate is within ${agreementAim * 100} % of the measured rate; the median error is ${middle} %. By figure, queue and instances:`;
}

const errorOf = (row: AgreementRow) => Math.abs(row.dequeuePerSec.error);

/** Shows where the misses are and in which direction. */
function groupTable(runs: readonly RunAgreement[]): string {
  const lines = runs.flatMap(({ run, agreement }) => {
    const groups = Map.groupBy(
      agreement.rows,
      ({ kind, params }) => `${kind}, ${params.roundTripMs} ms, ${params.instances}`,
    );
    return [...groups.values()].map((rows) => {
      const { kind, params } = rows[0]!;
      const errors = rows.map((row) => row.dequeuePerSec.error);
      const missed = rows.filter((row) => errorOf(row) > agreementAim).length;
      return [
        run.scenario.figure ?? run.scenario.id,
        kind,
        String(params.instances),
        String(params.roundTripMs),
        missed === 0 ? String(rows.length) : `**${rows.length - missed}** of ${rows.length}`,
        `${signed(Math.min(...errors))} to ${signed(Math.max(...errors))}`,
      ];
    });
  });
  const head = ['figure', 'queue', 'instances', 'round trip ms', `within ${agreementAim * 100} %`, 'errors'];
  return table(head, lines);
}

/** The command and conditions of the run, so that the table can be reproduced. */
function runInWords({ scenario, scale, points, environment, endedAtMs }: Run): string {
  const repeats = points[0]?.repeats.length ?? 0;
  const when = endedAtMs === null ? '' : `, ${new Date(endedAtMs).toISOString().slice(0, 10)}`;
  const commit = environment?.commit ? `, commit ${environment.commit}` : '';
  const load = environment === null ? '' : `, load before ${environment.loadAverage}`;
  return `\`npm run lab -- run ${scenario.id}${scale === 'quick' ? ' --quick' : ''}\`, ${repeats} ${repeats === 1 ? 'repeat' : 'repeats'}${when}${commit}${load}.`;
}
