import { sparklinePath } from '../charts/sparkline.ts';

const size = { width: 80, height: 22 };

/** `label` says in words what the line shows. */
export function Sparkline({
  values,
  label,
  color,
}: {
  values: readonly number[];
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
        d={sparklinePath(values, size)}
        fill="none"
        stroke={color}
        strokeWidth={1.5}
        strokeLinejoin="round"
      />
    </svg>
  );
}
