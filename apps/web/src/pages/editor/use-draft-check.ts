import type { Fault, ScenarioValidation } from '@shardlab/contract';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { validateScenario } from '../../api/queries.ts';

export interface DraftCheck {
  /** Whether the faults belong to the current text. */
  isCurrent: boolean;
  faults: readonly Fault[];
  /** There are further faults, which are not listed. */
  more: boolean;
  /** Line at which the text stops being JSON; counts from 1. */
  line: number | undefined;
  /** Null while unknown, or while there are faults. */
  quick: ScenarioValidation | null;
  full: ScenarioValidation | null;
  error: Error | null;
}

/** Asked after this pause in the typing, milliseconds. */
const checkAfterMs = 250;

/** The server's check of a text: its faults, or the duration and load of its run. */
export function useDraftCheck(text: string): DraftCheck {
  const [asked, setAsked] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), checkAfterMs);
    return () => clearTimeout(timer);
  }, [text]);
  const { data, error, isPlaceholderData } = useQuery({
    queryKey: ['validation', asked],
    queryFn: async ({ signal }) => ({
      quick: await validateScenario(asked, 'quick', signal),
      full: await validateScenario(asked, 'full', signal),
    }),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const isValid = data?.quick.valid === true;
  return {
    isCurrent: asked === text && data !== undefined && !isPlaceholderData,
    faults: data?.quick.errors ?? [],
    more: data?.quick.more ?? false,
    line: data?.quick.line,
    quick: isValid ? data.quick : null,
    full: isValid ? data.full : null,
    error,
  };
}
