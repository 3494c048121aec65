/** The results of the model as Markdown tables. */
import {
  type Agreement,
  agreementAim,
  type Fit,
  type HardwareFile,
  type Prediction,
  type ScalingPoint,
  sessionsPerInstance,
  type TimeComparison,
} from '@shardlab/model';
import { table } from './markdown.ts';

const rate = (value: number) => Math.round(value).toLocaleString('en-US');
export const signed = (share: number) => `${share < 0 ? '−' : '+'}${Math.abs(Math.round(share * 100))} %`;
const figure = (value: number) =>
  Math.abs(value) >= 1000 ? rate(value) : String(Number(value.toPrecision(3)));

export function parameterTable({ parameters }: HardwareFile): string {
  return table(
    ['free parameter', 'value', 'meaning'],
    Object.entries(parameters).map(([name, { value, meaning }]) => [`\`${name}\``, figure(value), meaning]),
  );
}

export function residualTable(residuals: Fit['residuals']): string {
  return table(
    ['claim', 'observed', 'simulated', 'error'],
    residuals.map(({ claim, observed, simulated }) => [
      claim,
      rate(observed),
      rate(simulated),
      signed(simulated / observed - 1),
    ]),
  );
}

export function predictionTable(predictions: readonly Prediction[]): string {
  const hits = predictions.filter(({ hit }) => hit).length;
  const rows = predictions.map(({ claim, says, value, unit, hit, reason }) => [
    claim,
    says,
    `${figure(value)} ${unit}`,
    hit ? 'hit' : '**miss**',
    reason,
  ]);
  return `${hits} of ${predictions.length} are hits.\n\n${table(['claim', 'the paper', 'the model', '', 'method'], rows)}`;
}

export function agreementTable({ rows, within, medianError }: Agreement): string {
  const head = [
    'queue',
    'instances',
    'threads',
    'round trip ms',
    'dequeues/s measured',
    'simulated',
    'error',
    'dequeue call p50 ms measured',
    'simulated',
    'commit to delivery p50 ms measured',
    'simulated',
    'CPU µs per message measured',
    'simulated',
    'bottleneck, simulated',
  ];
  const time = ({ measured, simulated, inside }: TimeComparison) => [
    figure(measured),
    inside ? figure(simulated) : `**${figure(simulated)}**`,
  ];
  const sorted = [...rows].sort(
    (a, b) =>
      a.params.roundTripMs - b.params.roundTripMs ||
      a.kind.localeCompare(b.kind) ||
      a.params.instances - b.params.instances ||
      a.params.threads - b.params.threads,
  );
  const body = sorted.map(
    ({ kind, params, dequeuePerSec, dequeueCallMs, latencyMs, cpuUsPerMessage, bottleneck }) => {
      const { measured, simulated, error } = dequeuePerSec;
      return [
        kind,
        String(params.instances),
        String(params.threads),
        String(params.roundTripMs),
        rate(measured),
        rate(simulated),
        Math.abs(error) <= agreementAim ? signed(error) : `**${signed(error)}**`,
        ...time(dequeueCallMs),
        ...time(latencyMs),
        figure(cpuUsPerMessage.measured),
        figure(cpuUsPerMessage.simulated),
        bottleneckInWords(bottleneck),
      ];
    },
  );
  const inside = (metric: 'dequeueCallMs' | 'latencyMs') => rows.filter((row) => row[metric].inside).length;
  const summary =
    `${within} of ${rows.length} rates are within ${agreementAim * 100} %; the median error is ${Math.round(medianError * 100)} %. ` +
    `The medians of ${inside('dequeueCallMs')} dequeue calls and of ${inside('latencyMs')} latencies from commit to delivery ` +
    'are between 0.8 × p50 and p90 of the run. Bold: outside.';
  return `${summary}\n\n${table(head, body)}`;
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
    rate(instances),
    `${rate(machines)} × ${coresPerMachine}`,
    rate(result.dequeuePerSec),
    rate(result.dequeuePerSec / instances),
    `${figure(result.latencyMs.p50)} / ${figure(result.latencyMs.p99)}`,
    bottleneckInWords(bottleneck),
  ]);
  return `${sessionsPerInstance} + ${sessionsPerInstance} embedded sessions per instance, 10 operations per transaction, 512 bytes.\n\n${table(head, body)}`;
}

const bottleneckInWords = (bottleneck: ScalingPoint['bottleneck']) =>
  bottleneck === null
    ? '–'
    : `${resourceNames[bottleneck.resource]}, ${Math.round(bottleneck.share * 100)} %`;

const resourceNames = {
  cores: 'cores',
  sessionThread: 'session thread',
  writerThread: 'writer thread',
  redoDevice: 'disk',
  partitionMaintenance: 'partition maintenance',
  indexBlock: 'write lock',
} as const;
