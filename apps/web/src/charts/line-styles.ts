/**
 * How the lines of one chart are distinguished. Systems with a colour of their own keep it wherever they are shown; other
 * systems, and lines of one system that differ in a parameter, take the free colours, and a dash once those are used up.
 */
import type { LineKind } from '../model/scaling-series.ts';
import { freeColors, knownSystemColor, lineDashes, systemsIn } from './visual-encoding.ts';

export interface LineStyle {
  color: string;
  /** Null: solid. Undefined: dashes do not distinguish these lines; they show the round trip. */
  dash?: string | null;
}

export interface LineStyles {
  of(line: LineKind): LineStyle;
  /** Colour for elements that concern a system as a whole; null if its lines differ in colour. */
  ofSystem(system: string): string | null;
}

/** `lines`: all that are planned, so that a line keeps its style while others appear. */
export function lineStyles(lines: readonly LineKind[]): LineStyles {
  const systems = systemsIn(lines);
  const variants = [...new Set(lines.map(variantOf))];
  const isBySystem =
    variants.length === 1 ||
    (systems.length > 1 && systems.length <= freeColors.length && variants.length <= lineDashes.length);
  const ofSystem = stylesOfSystems(systems);
  const ofLine = stylesByLine(systems, [...new Set(lines.map(keyOf))]);
  return {
    of(line) {
      if (!isBySystem) return ofLine.get(keyOf(line)) ?? unplanned;
      const style = ofSystem.get(line.system) ?? unplanned;
      if (variants.length <= 1) return style;
      return { ...style, dash: lineDashes[variants.indexOf(variantOf(line))] ?? null };
    },
    ofSystem: (system) => (isBySystem ? (ofSystem.get(system)?.color ?? null) : null),
  };
}

const unplanned: LineStyle = { color: freeColors[0]! };
const variantOf = ({ otherParams }: LineKind): string => otherParams.join('/');
const keyOf = (line: LineKind): string => `${line.system}/${variantOf(line)}`;

/** Systems that have a colour keep it, the others share what is free. */
function stylesOfSystems(systems: readonly string[]): Map<string, LineStyle> {
  const known = systems.flatMap((system) => knownSystemColor(system) ?? []);
  const free = freeColors.filter((color) => !known.includes(color));
  const others = systems.filter((system) => knownSystemColor(system) === undefined);
  return new Map(
    systems.map((system) => {
      const color = knownSystemColor(system);
      return [system, color === undefined ? cycled(free, others.indexOf(system)) : { color }];
    }),
  );
}

/** Lines of one system begin with its colour. */
function stylesByLine(systems: readonly string[], keys: readonly string[]): Map<string, LineStyle> {
  const own = systems.length === 1 ? knownSystemColor(systems[0]!) : undefined;
  const colors = own === undefined ? freeColors : [own, ...freeColors.filter((color) => color !== own)];
  return new Map(keys.map((key, index) => [key, cycled(colors, index)]));
}

function cycled(colors: readonly string[], index: number): LineStyle {
  const color = colors[index % colors.length]!;
  const round = Math.floor(index / colors.length);
  return round === 0 ? { color } : { color, dash: lineDashes[round % lineDashes.length]! };
}
