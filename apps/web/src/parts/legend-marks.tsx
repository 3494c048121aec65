/** The symbols in front of the texts of a legend. */
import { symbol } from 'd3-shape';
import { instanceShape, pointArea, themeColor } from '../charts/visual-encoding.ts';

/** A patch of one colour. */
export function Swatch({ color, opacity = 1 }: { color: string; opacity?: number }) {
  return (
    <svg width="12" height="12" aria-hidden="true">
      <rect width="12" height="12" rx="3" fill={color} fillOpacity={opacity} />
    </svg>
  );
}

/** A short piece of a line. */
export function LineSample({
  dash,
  thin = false,
  round = false,
  color = themeColor.muted,
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

/** The shape that stands for a number of instances. */
export function PointMark({ instances }: { instances: number }) {
  return (
    <svg width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true">
      <path d={symbol(instanceShape(instances), pointArea)() ?? ''} fill={themeColor.muted} />
    </svg>
  );
}
