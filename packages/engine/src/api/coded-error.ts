/** The common base of errors with a code: of the engine, the lab and the server. */

/** The definition that all errors of one code share. */
export interface ErrorDefinition {
  retryable: boolean;
  message: string;
}

/** The data that one occurrence adds to its definition. */
export interface ErrorContext {
  /** Replaces the registry's message with a more specific one. */
  message?: string;
  /** Safe to show to the caller. */
  details?: Record<string, unknown>;
  cause?: unknown;
}

export abstract class CodedError<Code extends string> extends Error {
  readonly code: Code;
  readonly retryable: boolean;
  /** Safe to show to the caller. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: Code, definition: ErrorDefinition, { message, details = {}, cause }: ErrorContext) {
    super(message ?? definition.message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryable = definition.retryable;
    this.details = details;
  }
}
