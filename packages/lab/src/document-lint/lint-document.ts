/**
 * Finds slips in a document's own numbers: quantities that contradict each other, a rate whose unit changes between runs, totals
 * that are one part multiplied. It knows no document; a study gives it numbers by kind.
 */
import type { Slip } from '@shardlab/contract';
import type {
  DifferenceNumbers,
  DocumentNumbers,
  RateNumbers,
  SameQuantity,
  Statement,
  SumNumbers,
  TotalNumbers,
  WaitNumbers,
} from './document-numbers.ts';
import { unitsInBase } from './document-numbers.ts';

/** Two statements of one quantity that differ by at most this share count as differently rounded. */
const tolerance = 0.1;

const rules: {
  [Kind in DocumentNumbers['kind']]: (of: Extract<DocumentNumbers, { kind: Kind }>) => string[];
} = {
  same: contradictions,
  waits: impossibleLongest,
  rates: changeOfUnit,
  totals: extrapolated,
  sum: wrongSum,
  difference: wrongDifference,
};

/** Returns the inconsistencies in the order of the numbers. */
export function lintDocument(numbers: readonly DocumentNumbers[]): Slip[] {
  return numbers.flatMap((each) => {
    const { claims, what, kind } = each;
    const said = (rules[kind] as (of: DocumentNumbers) => string[])(each);
    return said.map((slip) => ({ claims: [...claims], what, slip }));
  });
}

const baseOf = ({ value, unit }: Statement) => value * unitsInBase[unit].factor;
const inWords = ({ value, unit, bound = 'about' }: Statement) => {
  const { words } = unitsInBase[unit];
  return `${bound === 'about' ? '' : `${bound} `}${value.toLocaleString('en-US')}${words === '' ? '' : ` ${words}`}`;
};
const times = (ratio: number) => `${ratio >= 10 ? Math.round(ratio) : Number(ratio.toPrecision(3))} ×`;

function agree(a: Statement, b: Statement): boolean {
  const [left, right] = [baseOf(a), baseOf(b)];
  const [boundOfA, boundOfB] = [a.bound ?? 'about', b.bound ?? 'about'];
  // Counts are not rounded.
  const allowed = unitsInBase[a.unit].kind === 'count' ? 0 : tolerance;
  const isClose = Math.abs(left - right) <= allowed * Math.max(Math.abs(left), Math.abs(right));
  if (isClose) return true;
  if (boundOfA === 'over') return right > left || boundOfB === 'over';
  if (boundOfB === 'over') return left > right;
  if (boundOfA === 'under') return right < left || boundOfB === 'under';
  return boundOfB === 'under' && left < right;
}

/** Compares each statement with the first one, which the study uses. */
function contradictions({ stated: [first, ...others] }: SameQuantity): string[] {
  return others
    .filter((other) => !agree(first!, other))
    .map((other) => {
      if (unitsInBase[first!.unit].kind !== unitsInBase[other.unit].kind)
        throw new RangeError(`${first!.unit} and ${other.unit} are no units of one quantity`);
      const [large, small] = [baseOf(first!), baseOf(other)].toSorted((a, b) => b - a) as [number, number];
      return `${inWords(first!)} (${first!.where}), but ${inWords(other)} (${other.where}): ${times(large / small)} apart`;
    });
}

/** The longest of some waits takes at least their mean. */
function impossibleLongest({ waits, total, longest }: WaitNumbers): string[] {
  const mean = baseOf(total) / waits;
  if (baseOf(longest) >= mean * (1 - tolerance)) return [];
  const { factor, words } = unitsInBase[longest.unit];
  return [
    `the longest is ${inWords(longest)} (${longest.where}), but ${inWords(total)} over ${waits.toLocaleString('en-US')} waits (${total.where}) is a mean of ${(mean / factor).toFixed(1)} ${words}`,
  ];
}

/** One unit of the rate must stand for the same amount in each run. */
function changeOfUnit({ runs }: RateNumbers): string[] {
  const counted = runs.map((run) => ({ ...run, unit: run.done / (run.perSec * run.elapsedS) }));
  return counted.slice(1).flatMap((run, index) => {
    const before = counted[index]!;
    if (Math.abs(run.unit / before.unit - 1) <= 2 * tolerance) return [];
    const byTime = run.done / run.elapsedS / (before.done / before.elapsedS);
    return [
      `${before.perSec} /s (${before.where}) counts ${Math.round(before.unit)} of what was done as one, ${run.perSec} /s (${run.where}) counts ${Math.round(run.unit)}: ${times(run.perSec / before.perSec)} by the rates, ${times(byTime)} by the time`,
    ];
  });
}

/** Parts that were counted are never all equal: rows whose total is exactly a multiple of one part are extrapolated. */
function extrapolated({ rows }: TotalNumbers): string[] {
  const several = rows.filter(({ parts }) => parts > 1);
  if (several.length === 0 || !several.every(({ one, parts, total }) => one * parts === total)) return [];
  const { where, one, parts, total } = several.at(-1)!;
  return [
    `every total is one part multiplied, so nothing was summed: ${one.toLocaleString('en-US')} × ${parts} = ${total.toLocaleString('en-US')} (${where})`,
  ];
}

function wrongSum({ where, parts, sum }: SumNumbers): string[] {
  const added = parts.reduce((total, part) => total + part, 0);
  if (Math.abs(added - sum) < 1e-9 * Math.max(1, Math.abs(sum))) return [];
  return [`${parts.join(' + ')} is ${added}, not ${sum} (${where})`];
}

function wrongDifference({ from, to, stated }: DifferenceNumbers): string[] {
  const difference = baseOf(to) - baseOf(from);
  const { factor } = unitsInBase[stated.unit];
  // As many as its last digit says: 3 is anything from 2.5 to 3.5.
  if (Math.abs(difference / factor - stated.value) <= 0.5) return [];
  return [
    `${inWords(to)} (${to.where}) less ${inWords(from)} (${from.where}) is ${Number((difference / factor).toFixed(2))} ${unitsInBase[stated.unit].words}, not ${inWords(stated)} (${stated.where})`,
  ];
}
