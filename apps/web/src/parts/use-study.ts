import type { DocumentTable, StudyInfo } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { studiesQuery } from '../api/queries.ts';

/** The study with this id; undefined until the server has answered, or if there is none. */
export function useStudy(id: string | undefined): StudyInfo | undefined {
  const { data } = useQuery(studiesQuery);
  return data?.studies.find((study) => study.id === id);
}

const none: readonly DocumentTable[] = [];

/**
 * The tables of the study's document; empty until the server has answered. Always the same array, so that values derived from it
 * can be memoized.
 */
export const useTables = (id: string | undefined): readonly DocumentTable[] => useStudy(id)?.tables ?? none;
