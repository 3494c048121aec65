/** The legends of the charts of a run over time. */
import { numberParam } from '@shardlab/contract';
import { plural } from '../model/format.ts';
import { systemInWords } from '../model/system-words.ts';
import { type TrialSamples, waitClasses } from '../model/time-series.ts';
import { roundTripLegend } from './scaling-legend.ts';
import type { LegendItem } from './svg-document.ts';
import { systemColor, systemsIn, themeColor, waitColor } from './visual-encoding.ts';

export const rateLegend = (trials: readonly TrialSamples[]): LegendItem[] => [
  ...systemsIn(trials).map((name) => ({ label: systemInWords(name), color: systemColor(name) })),
  { label: 'dequeue', color: themeColor.muted, mark: { dash: null } },
  { label: 'enqueue', color: themeColor.muted, mark: { dash: null, isThin: true } },
  ...tripsOf(trials),
];

export const latencyLegend = (trials: readonly TrialSamples[]): LegendItem[] => [
  ...systemsIn(trials).map((name) => ({
    label: `${systemInWords(name)} median`,
    color: systemColor(name),
    mark: { dash: null },
  })),
  ...systemsIn(trials).map((name) => ({
    label: `${systemInWords(name)} up to p99`,
    color: systemColor(name),
    opacity: 0.24,
  })),
  ...tripsOf(trials),
];

const tripsOf = (trials: readonly TrialSamples[]): LegendItem[] =>
  roundTripLegend(trials.map(({ params }) => numberParam(params, 'roundTripMs')));

export const backlogLegend = (trials: readonly TrialSamples[]): LegendItem[] => [
  ...systemsIn(trials).map((name) => ({
    label: systemInWords(name),
    color: systemColor(name),
    mark: { dash: null },
  })),
  ...tripsOf(trials),
];

export const cpuLegend = (trials: readonly TrialSamples[]): LegendItem[] =>
  systemsIn(trials).map((name) => ({
    label: `${systemInWords(name)}, one shade per instance`,
    color: systemColor(name),
    opacity: 0.75,
  }));

/** Legend of the line at the number of cores. */
export const coresLegend = (cores: number): LegendItem => ({
  label: `${plural(cores, 'core')} of the machine`,
  color: themeColor.text,
  mark: { dash: null, isThin: true },
});

export function waitLegend(trials: readonly TrialSamples[]): LegendItem[] {
  const isEmulated = trials.some(({ params }) => numberParam(params, 'roundTripMs') > 0);
  const labels: Record<string, string> = {
    cpu: 'on CPU',
    ...(isEmulated ? { network: 'network (emulated)' } : {}),
  };
  return ['cpu', ...waitClasses].map((name) => ({
    label: labels[name] ?? name,
    color: waitColor[name]!,
    opacity: 0.9,
  }));
}
