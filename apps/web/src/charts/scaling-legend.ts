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
  { styles, hasReferences }: { styles: LineStyles; hasReferences: boolean },
): LegendItem[] {
  const instances = distinct(series.map((entry) => entry.instances)).filter((count) => count > 0);
  const trips = distinct(series.map((entry) => entry.roundTripMs));
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
    ...instances.map((count) => ({
      label: plural(count, 'instance'),
      color: themeColor.muted,
      mark: { shape: instanceShape(count) },
    })),
    ...(trips.length > 1 || (trips[0] ?? 0) > 0
      ? trips.map((trip) => ({
          label: trip === 0 ? 'no round trip' : `${trip} ms round trip, emulated`,
          color: themeColor.muted,
          mark: { dash: roundTripDash(trip) },
        }))
      : []),
    ...(hasReferences
      ? [
          {
            label: 'value in the document, on its hardware',
            color: themeColor.muted,
            opacity: documentLine.opacity,
          },
        ]
      : []),
  ];
}

/** The system only where there are several, or nothing else tells the line apart. */
const nameOf = ({ system, otherParams }: LineKind, systems: readonly string[]): string =>
  (systems.length > 1 || otherParams.length === 0
    ? [systemInWords(system), ...otherParams]
    : otherParams
  ).join(', ');

const distinct = (values: readonly number[]): number[] => [...new Set(values)].sort((a, b) => a - b);
