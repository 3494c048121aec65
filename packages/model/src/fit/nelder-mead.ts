/**
 * Downhill simplex (J. A. Nelder and R. Mead, 1965) with the usual coefficients: finds a minimum of a function without
 * derivatives, which a simulation has none of. Starts at `start` with steps of `step` in each direction.
 */
export interface MinimumOptions {
  start: readonly number[];
  step: number;
  /** Ends when the values at the simplex differ by less than this. */
  tolerance: number;
  evaluationsMax: number;
}

export interface Minimum {
  at: number[];
  value: number;
  evaluations: number;
}

interface Vertex {
  at: number[];
  value: number;
}

export function minimise(f: (at: readonly number[]) => number, options: MinimumOptions): Minimum {
  let evaluations = 0;
  const evaluate = (at: number[]): Vertex => {
    evaluations += 1;
    return { at, value: f(at) };
  };
  const { start, step, tolerance, evaluationsMax } = options;
  let simplex = [
    evaluate([...start]),
    ...start.map((_, axis) => evaluate(start.map((value, index) => (index === axis ? value + step : value)))),
  ];
  for (;;) {
    simplex.sort((a, b) => a.value - b.value);
    const best = simplex[0]!;
    const worst = simplex.at(-1)!;
    const done = simplex.length === 1 || worst.value - best.value < tolerance;
    if (done || evaluations >= evaluationsMax) return { ...best, evaluations };
    const others = simplex.slice(0, -1);
    const middle = centre(others);
    /** 1 mirrors the worst corner at the middle of the others, 2 goes twice as far, ±0.5 stays on that side. */
    const along = (factor: number) =>
      evaluate(middle.map((value, axis) => value + factor * (value - worst.at[axis]!)));
    const mirrored = along(1);
    if (mirrored.value < best.value) {
      const further = along(2);
      simplex = [...others, further.value < mirrored.value ? further : mirrored];
    } else if (mirrored.value < others.at(-1)!.value) simplex = [...others, mirrored];
    else {
      const nearer = along(mirrored.value < worst.value ? 0.5 : -0.5);
      if (nearer.value < Math.min(mirrored.value, worst.value)) simplex = [...others, nearer];
      else {
        const shrunk = simplex
          .slice(1)
          .map(({ at }) => evaluate(at.map((value, axis) => (value + best.at[axis]!) / 2)));
        simplex = [best, ...shrunk];
      }
    }
  }
}

function centre(corners: readonly Vertex[]): number[] {
  return corners[0]!.at.map(
    (_, axis) => corners.reduce((sum, { at }) => sum + at[axis]!, 0) / corners.length,
  );
}
