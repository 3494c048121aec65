/**
 * Least squares with factors that must not be negative, such as costs: the best fit among all subsets of the columns in
 * which every factor is positive (C. L. Lawson and R. J. Hanson, 1974, ask the same question; with a handful of columns
 * every subset can be tried). Each row weighs by its relative error, so that small measurements count like large ones.
 */
export interface LeastSquares {
  /** A factor for each column; 0 for one that does not help. */
  factors: number[];
  /** Root of the mean square of the relative residuals. */
  error: number;
}

const columnsMax = 8;

/**
 * `rows[i]` are the columns of observation `i`, `values[i]` > 0 is what they should add up to. The factors of the columns `required`
 * must be over 0.
 */
export function nonNegativeLeastSquares(
  rows: readonly (readonly number[])[],
  values: readonly number[],
  { required = [] }: { required?: readonly number[] } = {},
): LeastSquares {
  const columns = rows[0]?.length ?? 0;
  if (columns === 0 || columns > columnsMax || rows.length !== values.length) {
    throw new RangeError(`least squares need 1 to ${columnsMax} columns and a value for each row`);
  }
  if (!values.every((value) => value > 0)) throw new RangeError('least squares need values over 0');
  const scaled = rows.map((row, index) => row.map((each) => each / values[index]!));
  let best: LeastSquares = { factors: new Array<number>(columns).fill(0), error: 1 };
  for (let subset = 1; subset < 2 ** columns; subset++) {
    const chosen = Array.from({ length: columns }, (_, column) => column).filter(
      (column) => (subset >> column) & 1,
    );
    if (!required.every((column) => chosen.includes(column))) continue;
    const solution = solveOnes(scaled.map((row) => chosen.map((column) => row[column]!)));
    if (solution === null || solution.some((factor) => factor <= 0)) continue;
    const factors = new Array<number>(columns).fill(0);
    for (const [index, column] of chosen.entries()) factors[column] = solution[index]!;
    const error = errorOf(scaled, factors);
    if (error < best.error) best = { factors, error };
  }
  return best;
}

function errorOf(scaled: readonly (readonly number[])[], factors: readonly number[]): number {
  const squares = scaled.map(
    (row) => (row.reduce((sum, each, column) => sum + each * factors[column]!, 0) - 1) ** 2,
  );
  return Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length);
}

/** Least squares of rows · factors = 1, by the normal equations; null where the columns depend on each other. */
function solveOnes(rows: readonly (readonly number[])[]): number[] | null {
  const size = rows[0]!.length;
  // Columns are brought to one length first: costs per message and per group differ by orders of magnitude.
  const lengths = Array.from({ length: size }, (_, column) =>
    Math.sqrt(rows.reduce((sum, row) => sum + row[column]! ** 2, 0)),
  );
  if (lengths.includes(0)) return null;
  const matrix = Array.from({ length: size }, (_, i) => [
    ...Array.from({ length: size }, (_, j) =>
      rows.reduce((sum, row) => sum + (row[i]! / lengths[i]!) * (row[j]! / lengths[j]!), 0),
    ),
    rows.reduce((sum, row) => sum + row[i]! / lengths[i]!, 0),
  ]);
  const solution = gauss(matrix);
  return solution === null ? null : solution.map((value, column) => value / lengths[column]!);
}

/** Gaussian elimination with partial pivoting; the last column is the right-hand side. */
function gauss(matrix: number[][]): number[] | null {
  const size = matrix.length;
  for (let column = 0; column < size; column++) {
    let pivot = column;
    for (let row = column + 1; row < size; row++)
      if (Math.abs(matrix[row]![column]!) > Math.abs(matrix[pivot]![column]!)) pivot = row;
    if (Math.abs(matrix[pivot]![column]!) < 1e-10) return null;
    [matrix[column], matrix[pivot]] = [matrix[pivot]!, matrix[column]!];
    for (let row = 0; row < size; row++) {
      if (row === column) continue;
      const factor = matrix[row]![column]! / matrix[column]![column]!;
      for (let at = column; at <= size; at++) matrix[row]![at]! -= factor * matrix[column]![at]!;
    }
  }
  return matrix.map((row, index) => row[size]! / row[index]!);
}
