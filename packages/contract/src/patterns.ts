/** The patterns that texts must match, each with the words in which a fault is explained to who wrote the text. */

interface TextPattern {
  pattern: string;
  /** Completes "Must be …". */
  words: string;
}

const pattern = (source: string, words: string): TextPattern => ({ pattern: source, words });

export const patterns = {
  queueName: pattern(
    '^[A-Za-z][A-Za-z0-9_.-]{0,63}$',
    'a letter, then letters, digits, dots, dashes or underscores; at most 64 in all',
  ),
  // The name is part of URLs, where "." and ".." would be resolved as path segments.
  subscriberName: pattern(
    '^(?!\\.{1,2}$)[^\\u0000]+$',
    'any characters except U+0000, and neither "." nor ".."',
  ),
  messageId: pattern('^[0-9]{1,7}\\.[0-9]{1,16}$', 'the id of a message, such as 100.7'),
  words: pattern('^[a-z0-9][a-z0-9-]{0,63}$', 'lower-case words and dashes; at most 64 characters'),
  claim: pattern('^[A-Z][0-9]{1,2}$', 'the id of a claim, such as A1'),
  documentLetter: pattern('^[A-Z]$', 'one capital letter'),
  runPage: pattern('^[0-9]{1,15}(\\.[A-Za-z0-9_-]{0,800})?$', 'the "next" of the previous page'),
  /** The only text for these bytes: with padding, and with zeros in bits that encode nothing. */
  base64: pattern(
    '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$',
    'bytes as base64, with padding',
  ),
  propertyName: pattern('^(?!shardlab-)', 'a name that does not begin with "shardlab-"'),
  integer: pattern('^-?[0-9]{1,19}$', 'a whole number of up to 64 bits, as digits'),
  real: pattern(
    '^[-+]?(?:Infinity|(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][-+]?[0-9]+)?)$',
    'a number, or Infinity',
  ),
  idempotencyKey: pattern('^[\\x20-\\x7e]+$', 'printable ASCII characters'),
} as const;

const wordsByPattern = new Map(
  Object.values(patterns).map(({ pattern, words }) => [pattern as string, words]),
);

/** Describes in words which texts match; returns the pattern itself if it is not a known one. */
export const patternInWords = (source: string): string =>
  wordsByPattern.get(source) ?? `a match of ${source}`;
