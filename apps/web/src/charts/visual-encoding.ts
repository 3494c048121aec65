/**
 * How charts encode data: colour for the system or wait class, dash for the round trip, shape for the number of
 * instances. Colours are design tokens (`styles/tokens.css`), so charts follow the theme without being redrawn;
 * exported files and tests replace the tokens by their values.
 */
import {
  type SymbolType,
  symbolCircle,
  symbolCross,
  symbolDiamond,
  symbolSquare,
  symbolStar,
  symbolTriangle,
} from 'd3-shape';

export const themeColor = {
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

const systemColors: Readonly<Record<string, string>> = {
  sharded: 'var(--sharded)',
  unsharded: 'var(--unsharded)',
  'unsharded-grouped': 'var(--grouped)',
  'unsharded-once': 'var(--unsharded-once)',
  'unsharded-grouped-once': 'var(--grouped-once)',
};

/** Order of systems in legends; others follow in their own order. */
export const systemOrder: readonly string[] = Object.keys(systemColors);

/** The distinct systems of what a chart shows, in the order of its legend. */
export function systemsIn(shown: readonly { system: string }[]): string[] {
  const names = new Set(shown.map(({ system }) => system));
  return [
    ...systemOrder.filter((name) => names.has(name)),
    ...[...names].filter((name) => !systemOrder.includes(name)),
  ];
}

/** Undefined for systems without a colour of their own. */
export const knownSystemColor = (system: string): string | undefined => systemColors[system];

/** Colour of a single system. Several systems in one chart may lack one: see `lineStyles`. */
export const systemColor = (system: string): string => systemColors[system] ?? themeColor.muted;

/** A line's own colour, or else that of its system. */
export const lineColor = ({ color, system }: { color?: string | undefined; system: string }): string =>
  color ?? systemColor(system);

/** Colours for lines that are not distinguished by a system's colour, the most different first; all are readable as text. */
export const freeColors: readonly string[] = [
  'var(--grouped-once)',
  'var(--line-magenta)',
  'var(--line-olive)',
  'var(--grouped)',
  'var(--unsharded-once)',
  'var(--ink-2)',
  'var(--unsharded)',
  'var(--sharded)',
];

/** Null is a solid line. */
export const lineDashes: readonly (string | null)[] = [null, '6 4', '2 3', '10 3 2 3', '10 3 2 3 2 3'];

export const waitColor: Readonly<Record<string, string>> = {
  cpu: 'var(--wait-cpu)',
  commit: 'var(--wait-commit)',
  concurrency: 'var(--wait-concurrency)',
  configuration: 'var(--wait-configuration)',
  network: 'var(--wait-network)',
};

/** Colours for lines that are not systems: the runs of a comparison, a document beside our measurement. They also differ by dash. */
export const lineColors: readonly string[] = [
  'var(--sharded)',
  'var(--unsharded)',
  'var(--grouped)',
  'var(--grouped-once)',
  'var(--unsharded-once)',
  'var(--wait-cpu)',
];

/** Solid without an emulated round trip, dashed with one. */
export const roundTripDash = (roundTripMs: number): string | null => (roundTripMs > 0 ? '6 4' : null);

/** Dots close together: a simulated line. */
export const simulatedDash = '0.5 5';

/** A solid line in the colour of its system, pale: what was shown before. */
export const ghostOpacity = 0.35;

/**
 * Lines of a document are wide and pale behind our own: measured elsewhere, on other hardware. The thinner sample in a legend needs
 * more opacity to be seen.
 */
export const documentLine = { width: 5, opacity: 0.22, sampleOpacity: 0.5 } as const;

const shapes: readonly SymbolType[] = [
  symbolCircle,
  symbolSquare,
  symbolTriangle,
  symbolDiamond,
  symbolStar,
  symbolCross,
];

/** Area of a point's mark, square CSS pixels. */
export const pointArea = 58;

/** Marks nearer to each other than this, CSS pixels, cover each other. */
export const coveredPx = 3;

/** Area of a mark that others cover: a ring of it stays visible. All such marks are equally large, however many are at one place. */
export const coveredPointArea = (Math.sqrt(pointArea) + 4) ** 2;

/** A shape for each power of two from 1 to 32 instances, the same in every run. Other numbers share the nearest one. */
export function instanceShape(instances: number): SymbolType {
  return shapes[Math.min(shapes.length - 1, Math.max(0, Math.round(Math.log2(instances))))]!;
}
