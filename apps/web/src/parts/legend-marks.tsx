/** The symbols in front of the texts of a legend. */
import { type SymbolType, symbol } from 'd3-shape';
import type { LegendItem } from '../charts/svg-document.ts';
import { pointArea, themeColor } from '../charts/visual-encoding.ts';

/** A patch of one colour. */
export function Swatch({ color, opacity = 1 }: { color: string; opacity?: number }) {
  return (
    <svg width="12" height="12" aria-hidden="true">
      <rect width="12" height="12" rx="3" fill={color} fillOpacity={opacity} />
    </svg>
  );
}

/** The legend on the page, as a saved image has it below its drawing. */
export function Legend({ items, label = 'Legend' }: { items: readonly LegendItem[]; label?: string }) {
  return (
    <ul className="legend" aria-label={label}>
      {items.map((item) => (
        <li key={item.label}>
          <LegendSample {...item} />
          {item.label}
        </li>
      ))}
    </ul>
  );
}

function LegendSample({ color, opacity = 1, mark }: LegendItem) {
  if (mark === undefined) return <Swatch color={color} opacity={opacity} />;
  if ('shape' in mark) return <PointMark {...mark} color={color} />;
  const { dash, isThin = false, isRound = false } = mark;
  return <LineSample dash={dash} thin={isThin} round={isRound} color={color} opacity={opacity} />;
}

/** A short piece of a line. */
export function LineSample({
  dash,
  thin = false,
  round = false,
  color = themeColor.muted,
  opacity = 1,
}: {
  dash: string | null;
  thin?: boolean;
  round?: boolean;
  color?: string;
  opacity?: number;
}) {
  return (
    <svg width="24" height="8" aria-hidden="true">
      <path
        d="M0 4H24"
        stroke={color}
        strokeOpacity={opacity}
        strokeWidth={thin ? 1 : 2}
        strokeDasharray={dash ?? undefined}
        strokeLinecap={round ? 'round' : undefined}
        fill="none"
      />
    </svg>
  );
}

function PointMark({
  shape,
  isHollow = false,
  color,
}: {
  shape: SymbolType;
  isHollow?: boolean;
  color: string;
}) {
  const paint = isHollow ? { fill: 'none', stroke: color } : { fill: color };
  return (
    <svg width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true">
      <path d={symbol(shape, pointArea)() ?? ''} {...paint} />
    </svg>
  );
}
