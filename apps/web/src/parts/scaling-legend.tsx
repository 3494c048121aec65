import { roundTripDash, systemColor, systemsIn } from '../charts/visual-encoding.ts';
import { plural } from '../model/format.ts';
import type { ScalingSeries } from '../model/scaling-series.ts';
import { LineSample, PointMark, Swatch } from './legend-marks.tsx';

/** Colours for systems, shapes for numbers of instances, dashes for round trips; only those that occur. */
export function ScalingLegend(props: { series: readonly ScalingSeries[]; references: boolean }) {
  const { series } = props;
  const instances = distinct(series.map((entry) => entry.instances));
  const trips = distinct(series.map((entry) => entry.roundTripMs));
  const queues = systemsIn(series);
  return (
    <ul className="legend" aria-label="Legend">
      {queues.map((name) => (
        <li key={name}>
          <Swatch color={systemColor(name)} />
          {name}
        </li>
      ))}
      {instances.map((count) => (
        <li key={count}>
          <PointMark instances={count} />
          {plural(count, 'instance')}
        </li>
      ))}
      {trips.length > 1 || (trips[0] ?? 0) > 0
        ? trips.map((trip) => (
            <li key={trip}>
              <LineSample dash={roundTripDash(trip)} />
              {trip === 0 ? 'no round trip' : `${trip} ms round trip, emulated`}
            </li>
          ))
        : null}
      {props.references ? (
        <li>
          <LineSample dash={null} thin />
          value in the document, on its hardware
        </li>
      ) : null}
    </ul>
  );
}

const distinct = (values: readonly number[]): number[] => [...new Set(values)].sort((a, b) => a - b);
