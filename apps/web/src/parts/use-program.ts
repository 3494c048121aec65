import type { ProgramInfo } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { studiesQuery } from '../api/queries.ts';

/** A program's parameters and figures; undefined until the server has answered, or if it does not know the program. */
export function useProgram(id: string): ProgramInfo | undefined {
  const { data } = useQuery(studiesQuery);
  return data?.programs.find((program) => program.id === id);
}
