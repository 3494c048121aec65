import { sparklinePath } from '../charts/sparkline.ts';
import type { TimePoint } from '../model/time-chart-data.ts';

const size = { width: 80, height: 22 };

/** The line breaks between stretches. `label` says in words what it shows. */
export function Sparkline({
  stretches,
  label,
  color,
}: {
  stretches: readonly (readonly TimePoint[])[];
  label: string;
  color: string;
}) {
  return (
    <svg
      className="sparkline"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size.width} ${size.height}`}
      width={size.width}
      height={size.height}
    >
      <path
        d={sparklinePath(stretches, size)}
        fill="none"
        stroke={color}
        strokeWidth={1.5}
        strokeLinejoin="round"
      />
    </svg>
  );
}
