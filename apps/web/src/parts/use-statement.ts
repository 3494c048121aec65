import type { ClaimStatement } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { studiesQuery } from '../api/queries.ts';

/** What the document of a claim states of it; undefined until the server has told, or for a claim that no study has. */
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
