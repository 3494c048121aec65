/** The model's predictions for workloads that this machine has measured, and their errors. */
import type { MeasuredWorkload } from '@shardlab/contract';
import { type AgreementFigure, type AgreementRow, agreementAim, agreementOf, worstOf } from '@shardlab/model';
import type { DataTable } from './data-table.ts';
import { formatCount, formatMicros, formatMs, formatRate, formatValue, plural } from './format.ts';

export interface ScoredWorkload {
  workload: MeasuredWorkload;
  row: AgreementRow;
}

/**
 * Figures that are scored. Not the latency: it grows with a backlog, and so depends on how long a run was, where a prediction is
 * simulated for a part of that time.
 */
const scoredFigures = [
  { figure: 'dequeuePerSec', title: 'Dequeue rate', format: formatRate },
  { figure: 'cpuUsPerMessage', title: 'CPU a message', format: formatMicros },
  { figure: 'commitMs', title: 'Commit, median', format: formatMs },
  { figure: 'dequeueCallMs', title: 'Dequeue call, median', format: formatMs },
] as const satisfies readonly {
  figure: AgreementFigure;
  title: string;
  format: (value: number) => string;
}[];

export interface FigureScore {
  title: string;
  /** Predictions within the model's aim, of those whose figure was measured. */
  within: number;
  of: number;
  /** Median of the absolute errors. */
  medianError: number;
  worst: { error: number; workload: MeasuredWorkload; measured: string; predicted: string };
}

/** A score for each figure that was measured, the rate first. */
export function scoresOf(scored: readonly ScoredWorkload[]): FigureScore[] {
  const rows = scored.map(({ row }) => row);
  return scoredFigures.flatMap(({ figure, title, format }) => {
    const worst = worstOf(rows, figure);
    if (worst === null) return [];
    const { error, measured, simulated } = worst.compared[figure]!;
    const { workload } = scored.find(({ row }) => row === worst)!;
    return [
      {
        title,
        ...agreementOf(rows, figure),
        worst: { error, workload, measured: format(measured), predicted: format(simulated) },
      },
    ];
  });
}

/** "14 of 18 predicted dequeue rates are within 20 % of what was measured; the median error is 9 %." */
export function scoreInWords({ within, of, medianError }: FigureScore): string {
  return `${within} of ${of} predicted dequeue rates ${within === 1 ? 'is' : 'are'} within ${agreementAim * 100} % of what was measured; the median error is ${percent(medianError)}.`;
}

/** "unsharded, 4 instances, 16 threads, 10 operations, 512 bytes". */
export function workloadInWords({ kind, params }: MeasuredWorkload): string {
  const { instances, threads, roundTripMs, payloadBytes, operationsPerTransaction, subscribers } = params;
  return [
    kind,
    plural(instances, 'instance'),
    plural(threads, 'thread'),
    `${plural(operationsPerTransaction, 'operation')} a transaction`,
    `${formatCount(payloadBytes)} bytes`,
    ...(subscribers === undefined ? [] : [plural(subscribers, 'subscriber')]),
    ...(roundTripMs === 0 ? [] : [`${roundTripMs} ms round trip`]),
  ].join(', ');
}

export const percent = (share: number): string => `${Math.round(share * 100)} %`;
/** "−12 %", "+80 %", and from twice as much on "3.4 ×". */
export const errorInWords = (error: number): string =>
  error >= 1
    ? `${formatValue(error + 1)} ×`
    : `${error < 0 ? '−' : '+'}${Math.abs(Math.round(error * 100))} %`;

/** Messages in and out for which a prediction is simulated: a rate within a few per cent, in a tenth of a second. */
const simulatedOperations = 150_000;
/** Groups and round trips take milliseconds; a part of a run that has fewer of them says nothing. */
const measureMsMin = 50;

/**
 * The phases of the run, shortened to about `simulatedOperations` operations. The measured rate determines how long that is, and
 * only affects the precision of the prediction.
 */
export function predictedPhases({ phases, figures, params }: MeasuredWorkload): MeasuredWorkload['phases'] {
  const { warmupMs, measureMs } = phases;
  const perMs = ((figures.dequeuePerSec ?? 0) * (1 + 1 / (params.subscribers ?? 1))) / 1000;
  const share = Math.min(1, simulatedOperations / Math.max(1, perMs * (warmupMs + measureMs)));
  const least = Math.min(1, measureMsMin / measureMs);
  const part = Math.max(share, least);
  return { warmupMs: Math.round(warmupMs * part), measureMs: Math.max(1, Math.round(measureMs * part)) };
}

export interface ScorePoint {
  key: string;
  system: MeasuredWorkload['kind'];
  measured: number;
  predicted: number;
  isDisturbed: boolean;
  words: string;
}

/** The dequeue rates, from the lowest measured one on. */
export function scorePoints(scored: readonly ScoredWorkload[]): ScorePoint[] {
  return scored
    .flatMap(({ workload, row }): ScorePoint[] => {
      const compared = row.compared.dequeuePerSec;
      if (compared === undefined || compared.simulated <= 0) return [];
      const { measured, simulated, error } = compared;
      const words = workloadInWords(workload);
      return [
        {
          key: `${workload.run}/${words}`,
          system: workload.kind,
          measured,
          predicted: simulated,
          isDisturbed: workload.disturbed,
          words: `${words}: predicted ${formatRate(simulated)}, measured ${formatRate(measured)}, ${errorInWords(error)}`,
        },
      ];
    })
    .sort((a, b) => a.measured - b.measured);
}

export function scoreTable(scored: readonly ScoredWorkload[]): DataTable {
  return {
    columns: [
      'Workload',
      'Run',
      'Disturbed',
      ...scoredFigures.flatMap(({ title }) => [`${title}: measured`, `${title}: predicted`]),
    ],
    rows: scored.map(({ workload, row }) => [
      workloadInWords(workload),
      workload.title,
      workload.disturbed ? 'yes' : 'no',
      ...scoredFigures.flatMap(({ figure }) => {
        const compared = row.compared[figure];
        return [compared?.measured ?? null, compared?.simulated ?? null];
      }),
    ]),
  };
}
