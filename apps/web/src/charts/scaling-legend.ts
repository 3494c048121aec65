/** The legend of a scaling chart. */

import { plural } from '../model/format.ts';
import type { LineKind, ScalingSeries } from '../model/scaling-series.ts';
import { systemInWords } from '../model/system-words.ts';
import type { LineStyles } from './line-styles.ts';
import type { LegendItem } from './svg-document.ts';
import { documentLine, instanceShape, roundTripDash, systemsIn, themeColor } from './visual-encoding.ts';

/** A line for each style, shapes for numbers of instances, dashes for round trips; only what occurs. */
export function scalingLegend(
  series: readonly ScalingSeries[],
  options: {
    styles: LineStyles;
    hasReferences: boolean;
    /** Whether the titles of panels show the round trips, so that the legend need not. */
    hasTripPanels: boolean;
  },
): LegendItem[] {
  const { styles, hasReferences, hasTripPanels } = options;
  const systems = systemsIn(series);
  const kinds = new Map<string, LineKind>(
    systems.flatMap((system) =>
      series.filter((entry) => entry.system === system).map((entry) => [nameOf(entry, systems), entry]),
    ),
  );
  return [
    ...[...kinds].map(([label, line]): LegendItem => {
      const { color, dash = null } = styles.of(line);
      return { label, color, mark: { dash } };
    }),
    ...instancesLegend(series),
    ...(hasTripPanels ? [] : roundTripLegend(series.map(({ roundTripMs }) => roundTripMs))),
    ...(hasReferences
      ? [
          {
            label: 'value in the document, on its hardware',
            color: themeColor.muted,
            opacity: documentLine.sampleOpacity,
            mark: { dash: null },
          },
        ]
      : []),
  ];
}

/** A shape for each number of instances. */
export const instancesLegend = (series: readonly Pick<ScalingSeries, 'instances'>[]): LegendItem[] =>
  distinct(series.map(({ instances }) => instances))
    .filter((count) => count > 0)
    .map((count) => ({
      label: plural(count, 'instance'),
      color: themeColor.muted,
      mark: { shape: instanceShape(count) },
    }));

/** Explains the dashes; empty if no line has any. */
export function roundTripLegend(all: readonly number[]): LegendItem[] {
  const trips = distinct(all);
  if (trips.every((trip) => trip === 0)) return [];
  return trips.map((trip) => ({
    label: trip === 0 ? 'no round trip' : `${trip} ms round trip, emulated`,
    color: themeColor.muted,
    mark: { dash: roundTripDash(trip) },
  }));
}

/** Includes the system only if there are several, or if nothing else distinguishes the line. */
const nameOf = ({ system, otherParams }: LineKind, systems: readonly string[]): string =>
  (systems.length > 1 || otherParams.length === 0
    ? [systemInWords(system), ...otherParams]
    : otherParams
  ).join(', ');

const distinct = (values: readonly number[]): number[] => [...new Set(values)].sort((a, b) => a - b);
