/** The faults of a document, as they are listed in an error and in its sentence. */
import { type FoundFaults, faultInWords, faultsListedMax } from '@shardlab/contract';

export interface ScenarioProblem {
  /** JSON pointer of the faulty value; an empty string means the whole document. */
  path: string;
  message: string;
}

export interface ScenarioProblems {
  /** The faults, at least one. */
  faults: ScenarioProblem[];
  /** There are further faults, which were not searched for. */
  more: boolean;
}

/** "The scenario has 3 faults: /seed: Must be at least 0, not -1 (and 2 more)" */
export function problemsInWords(document: string, { faults, more }: ScenarioProblems): string {
  const found = more ? `more than ${faultsListedMax} faults` : `${faults.length} faults`;
  const others = faults.length > 1 ? ` (and ${more ? 'at least ' : ''}${faults.length - 1} more)` : '';
  return `The ${document} has ${faults.length === 1 ? 'a fault' : found}: ${faultInWords(faults[0]!)}${others}`;
}

/** Faults as the details of an error. `more` is set only where faults are not listed. */
export const problemDetails = ({ faults, more }: ScenarioProblems) => ({
  errors: faults,
  ...(more && { more }),
});

export const toProblems = ({ faults, more }: FoundFaults): ScenarioProblems => ({
  faults: faults.map(({ path, message }) => ({ path, message })),
  more,
});
