import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { readWhatIfSearch, type WhatIfSearch } from './what-if-search.ts';

/** The address follows after this time without a change: a navigation takes longer than a redrawing. Milliseconds. */
const addressAfterMs = 250;

type Change = { [Name in keyof WhatIfSearch]?: WhatIfSearch[Name] | null | undefined };

/**
 * The settings in the address, including changes that have not reached it yet. The object stays the same while its content does.
 * `set` takes null or undefined for settings to leave out.
 */
export function useWhatIfSearch(): { search: WhatIfSearch; set(change: Change): void } {
  const inAddress = useSearch({ from: '/what-if' });
  const navigate = useNavigate({ from: '/what-if' });
  const [draft, setDraft] = useState<WhatIfSearch | null>(null);
  useEffect(() => {
    if (draft === null) return;
    const timer = setTimeout(async () => {
      await navigate({ search: draft, replace: true, resetScroll: false });
      setDraft((now) => (now === draft ? null : now));
    }, addressAfterMs);
    return () => clearTimeout(timer);
  }, [draft, navigate]);
  const text = JSON.stringify(draft ?? inAddress);
  const search = useMemo(() => JSON.parse(text) as WhatIfSearch, [text]);
  return {
    search,
    set: (change) => setDraft((now) => readWhatIfSearch({ ...(now ?? inAddress), ...change })),
  };
}
