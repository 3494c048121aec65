/** All that is public of the package. */
export { checkHistory, type Verdict } from './check/check-history.ts';
export type { Violation, ViolationKind } from './check/violation.ts';
export { violationKinds } from './check/violation.ts';
export type * from './operation.ts';
export { HistoryError, mergeLines, parseHistory } from './parse-history.ts';
export {
  type MessageRecord,
  type RecordableSession,
  RecordedSession,
  type RecordedSessionOptions,
  type SessionMessage,
} from './recorded-session.ts';
export {
  type Attempt,
  monotonicNs,
  type OpenOperation,
  openHistoryFile,
  Recorder,
  type RecorderOptions,
  writeAllSync,
} from './recorder.ts';
export { describeVerdict } from './report.ts';
