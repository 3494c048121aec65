/** The query string of the start page: the claim that is open. */
export interface LabSearch {
  claim?: string;
}

export const readLabSearch = ({ claim }: Record<string, unknown>): LabSearch =>
  typeof claim === 'string' ? { claim } : {};
