/** A run's points as a Markdown table: for each figure what was measured, what is simulated, and the error. */
import {
  type AgreementFigure,
  type AgreementRow,
  agreementAim,
  agreementFigures,
  agreementOf,
  type Comparison,
  isWithinAim,
} from '@shardlab/model';
import { table } from './markdown.ts';
import { bottleneckInWords, significant, wholeNumber } from './number-text.ts';

export const figureNames: Record<AgreementFigure, { title: string; unit: string }> = {
  dequeuePerSec: { title: 'dequeue rate', unit: '/s' },
  cpuUsPerMessage: { title: 'CPU per message', unit: 'µs' },
  commitMs: { title: 'commit p50', unit: 'ms' },
  dequeueCallMs: { title: 'dequeue call p50', unit: 'ms' },
  latencyMs: { title: 'commit to delivery p50', unit: 'ms' },
};

export const signed = (share: number): string =>
  `${share < 0 ? '−' : '+'}${wholeNumber(Math.abs(Math.round(share * 100)))} %`;

/** Figures that no point of the run has are left out. */
export function agreementTable(rows: readonly AgreementRow[]): string {
  const figures = agreementFigures.filter((figure) => agreementOf(rows, figure).of > 0);
  const head = [
    'queue',
    'instances',
    'threads',
    'round trip ms',
    ...figures.flatMap((figure) => {
      const { title, unit } = figureNames[figure];
      return [`${title} ${unit}`, 'simulated', 'error'];
    }),
    'bottleneck, simulated',
  ];
  const sorted = [...rows].sort(
    (a, b) =>
      a.params.roundTripMs - b.params.roundTripMs ||
      a.kind.localeCompare(b.kind) ||
      a.params.instances - b.params.instances ||
      a.params.threads - b.params.threads,
  );
  const body = sorted.map(({ kind, params, compared, bottleneck }) => [
    kind,
    String(params.instances),
    String(params.threads),
    String(params.roundTripMs),
    ...figures.flatMap((figure) => cells(compared[figure], figure)),
    bottleneckInWords(bottleneck),
  ]);
  const counts = figures.map((figure) => {
    const { within, of } = agreementOf(rows, figure);
    return `${figureNames[figure].title} ${within} of ${of}`;
  });
  return `Within ${agreementAim * 100} %: ${counts.join(', ')}. Bold: outside.\n\n${table(head, body)}`;
}

function cells(comparison: Comparison | undefined, figure: AgreementFigure): string[] {
  if (comparison === undefined) return ['–', '–', '–'];
  const { measured, simulated, error } = comparison;
  const text = figure === 'dequeuePerSec' ? wholeNumber : significant;
  return [text(measured), text(simulated), isWithinAim(comparison) ? signed(error) : `**${signed(error)}**`];
}
