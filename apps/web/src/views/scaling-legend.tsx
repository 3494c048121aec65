import { symbol } from 'd3-shape';
import { implementationColor, ink, instanceShape, modeDash } from '../charts/ink.ts';
import { plural } from '../model/format.ts';
import type { ScalingSeries } from '../model/scaling-series.ts';

/** Colour is the queue, shape the instances, dash the round trip; only what occurs is listed. */
export function ScalingLegend(props: { series: readonly ScalingSeries[]; references: boolean }) {
  const { series } = props;
  const instances = distinct(series.map((entry) => entry.instances));
  const trips = distinct(series.map((entry) => entry.roundTripMs));
  const queues = (['sharded', 'unsharded'] as const).filter((name) =>
    series.some((entry) => entry.implementation === name),
  );
  return (
    <ul className="legend" aria-label="Legend">
      {queues.map((name) => (
        <li key={name}>
          <Swatch color={implementationColor[name]} />
          {name}
        </li>
      ))}
      {instances.map((count) => (
        <li key={count}>
          <svg width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true">
            <path d={symbol(instanceShape(count), 58)() ?? ''} fill={ink.muted} />
          </svg>
          {plural(count, 'instance')}
        </li>
      ))}
      {trips.length > 1 || (trips[0] ?? 0) > 0
        ? trips.map((trip) => (
            <li key={trip}>
              <Stroke dash={modeDash(trip)} />
              {trip === 0 ? 'as it is' : `${trip} ms round trip, emulated`}
            </li>
          ))
        : null}
      {props.references ? (
        <li>
          <Stroke dash={null} thin />
          the document’s figure, on its own hardware
        </li>
      ) : null}
    </ul>
  );
}

/** A patch of colour. */
export function Swatch({ color, opacity = 1 }: { color: string; opacity?: number }) {
  return (
    <svg width="12" height="12" aria-hidden="true">
      <rect width="12" height="12" rx="3" fill={color} fillOpacity={opacity} />
    </svg>
  );
}

/** A piece of line. */
export function Stroke({
  dash,
  thin = false,
  round = false,
  color = ink.muted,
}: {
  dash: string | null;
  thin?: boolean;
  round?: boolean;
  color?: string;
}) {
  return (
    <svg width="24" height="8" aria-hidden="true">
      <path
        d="M0 4H24"
        stroke={color}
        strokeWidth={thin ? 1 : 2}
        strokeDasharray={dash ?? undefined}
        strokeLinecap={round ? 'round' : undefined}
        fill="none"
      />
    </svg>
  );
}

const distinct = (values: readonly number[]): number[] => [...new Set(values)].sort((a, b) => a - b);
