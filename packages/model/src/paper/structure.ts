/**
 * Which predictions follow from the structure of the model alone. Every fitted cost is drawn anew, each for itself, and
 * the predictions are judged again: one that holds whatever the costs are says nothing about the fitted numbers.
 */

import type { HardwareFile } from '../hardware/hardware-file.ts';
import { resolveHardware } from '../hardware/resolve-hardware.ts';
import type { ClusterCosts } from '../sim/costs.ts';
import { Random } from '../statistics/random.ts';
import { predictWhitePaper } from './predictions.ts';
import { simulateWhitePaper, type WhitePaperPoints } from './white-paper-sweeps.ts';

export interface CostDraws {
  /** Default 200. */
  draws?: number;
  /** Default 1. */
  seed?: number;
  /** Scales how long each point is simulated; default 0.5, with which chance changes no verdict. */
  effort?: number;
  /** Called after each draw. */
  onProgress?: (draws: number) => void;
}

export interface StructureCount {
  claim: string;
  /** Draws in which the prediction is a hit. */
  holds: number;
  of: number;
}

/** Each cost is drawn between a tenth of its fitted value and ten times that, evenly by its logarithm. */
const spread = 10;
const threads = [1, 8, 32];
const structureShareMin = 0.95;

/** Whether the prediction holds in at least 95 % of the draws. */
export const followsFromStructure = ({ holds, of }: Pick<StructureCount, 'holds' | 'of'>): boolean =>
  holds >= structureShareMin * of;

/** Returns one count for each prediction, in their order. Takes some minutes with the defaults. */
export function holdsOverDrawnCosts(hardware: HardwareFile, options: CostDraws = {}): StructureCount[] {
  const { draws = 200, seed = 1, effort = 0.5, onProgress } = options;
  const holds = new Map<string, number>();
  for (let draw = 1; draw <= draws; draw++) {
    const points = judgedPoints(hardware, { draw, seed, effort });
    for (const { claim, hit } of predictWhitePaper(points))
      holds.set(claim, (holds.get(claim) ?? 0) + (hit ? 1 : 0));
    onProgress?.(draw);
  }
  return [...holds].map(([claim, count]) => ({ claim, holds: count, of: draws }));
}

/** Each draw has random numbers of its own, so that it does not depend on those before. */
function judgedPoints(
  hardware: HardwareFile,
  { draw, seed, effort }: { draw: number; seed: number; effort: number },
): WhitePaperPoints {
  const random = new Random(seed * 1_000_003 + draw);
  return simulateWhitePaper(drawCosts(hardware, random), { effort, seed: draw, threads });
}

/** The file's costs with other values for the fitted ones. Stated, design and chosen values stay. */
function drawCosts(hardware: HardwareFile, random: Random): ClusterCosts {
  const redraw = (node: unknown): unknown => {
    if (node === null || typeof node !== 'object') return node;
    if ('source' in node && 'times' in node && node.source === 'fitted') {
      const factor = spread ** (2 * random.next() - 1);
      return { ...node, times: (node.times as number) * factor };
    }
    return Object.fromEntries(Object.entries(node).map(([name, child]) => [name, redraw(child)]));
  };
  return resolveHardware({ ...hardware, costs: redraw(hardware.costs) as HardwareFile['costs'] });
}
