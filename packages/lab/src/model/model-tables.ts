/** The results of the model as Markdown tables. */
import {
  type Fit,
  followsFromStructure,
  type HardwareFile,
  type Prediction,
  type ScalingPoint,
  type StructureCount,
  sessionsPerInstance,
} from '@shardlab/model';
import { signed } from './agreement-table.ts';
import { table } from './markdown.ts';
import { bottleneckInWords, significant, wholeNumber } from './number-text.ts';

export function parameterTable({ parameters }: HardwareFile): string {
  return table(
    ['free parameter', 'value', 'meaning'],
    Object.entries(parameters).map(([name, { value, meaning }]) => [
      `\`${name}\``,
      significant(value),
      meaning,
    ]),
  );
}

export function residualTable(residuals: Fit['residuals']): string {
  return table(
    ['claim', 'observed', 'simulated', 'error'],
    residuals.map(({ claim, observed, simulated }) => [
      claim,
      wholeNumber(observed),
      wholeNumber(simulated),
      signed(simulated / observed - 1),
    ]),
  );
}

/**
 * With `structure` the table shows how often each prediction holds with drawn costs, and the hits are counted separately by that:
 * a hit that follows from the structure is no evidence for the fitted numbers.
 */
export function predictionTable(
  predictions: readonly Prediction[],
  structure: readonly StructureCount[] | null = null,
): string {
  const countOf = (claim: string) => structure?.find((count) => count.claim === claim);
  const rows = predictions.map(({ claim, says, value, unit, hit, reason }) => {
    const count = countOf(claim);
    return [
      claim,
      says,
      `${significant(value)} ${unit}`,
      hit ? 'hit' : '**miss**',
      ...(count === undefined ? [] : [structureInWords(count)]),
      reason,
    ];
  });
  const head = [
    'claim',
    'the paper',
    'the model',
    '',
    ...(structure === null ? [] : ['with drawn costs']),
    'method',
  ];
  const hits = predictions.filter(({ hit }) => hit);
  const summary = `${hits.length} of ${predictions.length} are hits${structure === null ? '.' : hitsApart(hits, structure)}`;
  return `${summary}\n\n${table(head, rows)}`;
}

const structureInWords = (count: StructureCount) =>
  `${Math.round((100 * count.holds) / count.of)} %${followsFromStructure(count) ? ', structure' : ''}`;

function hitsApart(hits: readonly Prediction[], structure: readonly StructureCount[]): string {
  const claims = new Set(structure.filter(followsFromStructure).map(({ claim }) => claim));
  const fromStructure = hits.filter(({ claim }) => claims.has(claim));
  const named = (some: readonly Prediction[]) =>
    some.length === 0 ? 'none' : some.map(({ claim }) => claim).join(', ');
  const others = hits.filter(({ claim }) => !claims.has(claim));
  return (
    `: ${fromStructure.length} follow from the structure of the model (${named(fromStructure)}), ` +
    `${others.length} depend on the costs, that is on fitted numbers and chosen multiples (${named(others)}). A prediction follows from the structure if it ` +
    `holds in at least 95 % of ${structure[0]?.of ?? 0} draws of all fitted costs, each between a tenth of its value and ten times that.`
  );
}

export function scalingTable(points: readonly ScalingPoint[]): string {
  const head = [
    'queue',
    'instances',
    'machines × cores',
    'dequeues/s',
    'per instance',
    'p50 / p99 ms',
    'used most',
  ];
  const body = points.map(({ kind, instances, machines, coresPerMachine, result, bottleneck }) => [
    kind,
    wholeNumber(instances),
    `${wholeNumber(machines)} × ${coresPerMachine}`,
    wholeNumber(result.dequeuePerSec),
    wholeNumber(result.dequeuePerSec / instances),
    `${significant(result.latencyMs.p50)} / ${significant(result.latencyMs.p99)}`,
    bottleneckInWords(bottleneck),
  ]);
  return `${sessionsPerInstance} + ${sessionsPerInstance} embedded sessions per instance, 10 operations per transaction, 512 bytes.\n\n${table(head, body)}`;
}
