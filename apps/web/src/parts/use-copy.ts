import { useEffect, useState } from 'react';

const shownMs = 2_000;

/**
 * Copies a text. `isCopied` is true for two seconds after. `refused` is the text that could not be copied: browsers have a
 * clipboard on this machine and over HTTPS only, and may refuse it.
 */
export function useCopy(): { isCopied: boolean; refused: string | null; copy(text: string): Promise<void> } {
  const [copiedAt, setCopiedAt] = useState<number | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  useEffect(() => {
    if (copiedAt === null) return;
    const timer = setTimeout(() => setCopiedAt(null), shownMs);
    return () => clearTimeout(timer);
  }, [copiedAt]);
  const copy = async (text: string) => {
    try {
      await navigator.clipboard.writeText(text);
      setRefused(null);
      setCopiedAt(performance.now());
    } catch {
      setRefused(text);
    }
  };
  return { isCopied: copiedAt !== null, refused, copy };
}
