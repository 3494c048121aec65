/** What the errors of every registry have in common: of the engine, and of what is built on it. */

/** How errors of a code are, whatever the case. */
export interface CodeEntry {
  retryable: boolean;
  message: string;
}

/** What is known of one case. */
export interface ErrorFacts {
  /** Replaces the registry's message where the case can be named more closely. */
  sentence?: string;
  /** Safe to show to the caller. */
  details?: Record<string, unknown>;
  cause?: unknown;
}

export abstract class CodedError<Code extends string> extends Error {
  readonly code: Code;
  readonly retryable: boolean;
  /** Facts of the case, safe to show to the caller. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: Code, entry: CodeEntry, { sentence, details = {}, cause }: ErrorFacts) {
    super(sentence ?? entry.message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryable = entry.retryable;
    this.details = details;
  }
}
