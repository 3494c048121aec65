/**
 * All errors that the lab throws. Codes are API: they are never renamed or reused. `kind` is mapped to a status by the
 * server; its values are those of the engine's registry.
 */
import { CodedError, type ErrorContext, type ErrorDefinition, type ErrorKind } from '@shardlab/engine';

interface ErrorEntry extends ErrorDefinition {
  kind: ErrorKind;
}

const table = {
  SCENARIO_INVALID: { kind: 'invalid', retryable: false, message: 'The scenario has faults' },
  SCENARIO_TOO_LARGE: { kind: 'too-large', retryable: false, message: 'The scenario exceeds the size limit' },
  SCENARIO_NOT_FOUND: { kind: 'not-found', retryable: false, message: 'There is no scenario with this name' },
  LESSON_INVALID: { kind: 'invalid', retryable: false, message: 'The lesson has faults' },
  HARDWARE_INVALID: { kind: 'invalid', retryable: false, message: 'The hardware file has faults' },
  HARDWARE_NOT_FOUND: {
    kind: 'not-found',
    retryable: false,
    message: 'There is no hardware file with this name',
  },
  DOCUMENT_SECTION_MISSING: {
    kind: 'not-found',
    retryable: false,
    message: 'The document has no section for this table',
  },
  RUN_INVALID: { kind: 'invalid', retryable: false, message: 'The run has faults' },
  RUN_NOT_FOUND: { kind: 'not-found', retryable: false, message: 'There is no run with this id' },
  RUN_NOT_ACTIVE: { kind: 'conflict', retryable: false, message: 'The run has already ended' },
  DISK_SPACE_LOW: {
    kind: 'unavailable',
    retryable: true,
    message: 'The disk has less free space than a trial may need',
  },
  DATA_FOLDER_UNUSABLE: {
    kind: 'failed',
    retryable: false,
    message: 'The data folder cannot be created or written',
  },
  SYSTEM_UNAVAILABLE: {
    kind: 'unavailable',
    retryable: false,
    message: 'A system of the scenario needs a program that is not installed',
  },
  WORKER_FAILED: { kind: 'failed', retryable: true, message: 'An instance process of the trial failed' },
} as const satisfies Record<string, ErrorEntry>;

export type LabErrorCode = keyof typeof table;

/** The registry, for hosts that map errors and for the test against `docs/errors.md`. */
export const labErrorRegistry: Readonly<Record<LabErrorCode, ErrorEntry>> = table;

export class LabError extends CodedError<LabErrorCode> {
  override readonly name = 'LabError';
  readonly kind: ErrorKind;

  constructor(code: LabErrorCode, context: ErrorContext = {}) {
    super(code, table[code], context);
    this.kind = table[code].kind;
  }
}
