/** Faults of texts that should be JSON but are not. */

/**
 * Why a text that begins like an object, an array or a string of JSON does not parse, as the browser says it; null if it does
 * parse, or looks like plain text.
 */
export function jsonFault(text: string): string | null {
  if (!/^\s*[{["]/.test(text)) return null;
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
