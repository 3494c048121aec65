/**
 * Colours by meaning. Charts name design tokens (`styles/tokens.css`), so they follow the theme without being drawn
 * again; export and tests put the values in their place.
 */
import type { Implementation } from '@shardlab/contract';
import {
  type SymbolType,
  symbolCircle,
  symbolCross,
  symbolDiamond,
  symbolSquare,
  symbolStar,
  symbolTriangle,
} from 'd3-shape';

export const ink = {
  text: 'var(--ink)',
  muted: 'var(--ink-3)',
  line: 'var(--line)',
  strong: 'var(--line-strong)',
  surface: 'var(--surface)',
  well: 'var(--well)',
  accent: 'var(--accent)',
} as const;

export const fontFamily =
  '-apple-system, BlinkMacSystemFont, "Segoe UI", Inter, Roboto, "Noto Sans", "Liberation Sans", "Helvetica Neue", Arial, system-ui, sans-serif';

export const implementationColor: Readonly<Record<Implementation, string>> = {
  sharded: 'var(--sharded)',
  unsharded: 'var(--unsharded)',
};

export const waitColor: Readonly<Record<string, string>> = {
  cpu: 'var(--wait-cpu)',
  commit: 'var(--wait-commit)',
  concurrency: 'var(--wait-concurrency)',
  configuration: 'var(--wait-configuration)',
  network: 'var(--wait-network)',
};

/** A dash for the mode: solid as it is, dashed with an emulated round trip. */
export const modeDash = (roundTripMs: number): string | null => (roundTripMs > 0 ? '6 4' : null);

/** Points close together, for what a model says. */
export const simulatedDash = '0.5 5';

const shapes: readonly SymbolType[] = [
  symbolCircle,
  symbolSquare,
  symbolTriangle,
  symbolDiamond,
  symbolStar,
  symbolCross,
];

/** One shape per number of instances: 1, 2, 4, 8 and 16 have their own, whatever a run has swept. */
export function instanceShape(instances: number): SymbolType {
  return shapes[Math.min(shapes.length - 1, Math.max(0, Math.round(Math.log2(instances))))]!;
}
