/** Validates the name of a subscriber. */
import { limits } from '../api/limits.ts';

/** Why a value is no name, as a sentence; undefined of a name. */
export function subscriberNameFault(name: unknown): string | undefined {
  const charactersMax = limits.subscriberNameCharactersMax;
  if (typeof name !== 'string' || name === '' || characters(name) > charactersMax) {
    return `The name of a subscriber must have 1 to ${charactersMax} characters`;
  }
  // It separates the recipients of a message.
  if (name.includes('\0')) return 'The name of a subscriber must not contain U+0000';
  // Storing it as UTF-8 would change it, and the subscriber would not be found by the name that was given.
  if (!name.isWellFormed()) return 'The name of a subscriber must not contain a lone surrogate';
  // They are part of URLs, where these two name no subscriber.
  if (name === '.' || name === '..') return 'The name of a subscriber must not be "." or ".."';
  return undefined;
}

/** Unicode characters, not UTF-16 units, of a text that is not much too long. */
function characters(text: string): number {
  return text.length > 2 * limits.subscriberNameCharactersMax ? text.length : [...text].length;
}
