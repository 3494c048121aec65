import type { ClaimStatement } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { studiesQuery } from '../api/queries.ts';

/** The document's statement of a claim; undefined until the server has answered, or for a claim that no study has. */
export function useStatement(
  claim: string,
): { statement: ClaimStatement; language: string | undefined } | undefined {
  const { data } = useQuery(studiesQuery);
  for (const { statements, document } of data?.studies ?? []) {
    const statement = statements.find((each) => each.claim === claim);
    if (statement !== undefined) return { statement, language: document.language };
  }
  return undefined;
}
