/** All that is public of the package. */
export { checkHistory, type Verdict } from './check/check-history.ts';
export { describeVerdict } from './check/report.ts';
export type { Violation, ViolationKind } from './check/violation.ts';
export { violationKinds } from './check/violation.ts';
export type * from './record/operation.ts';
export { HistoryError, mergeLines, parseHistory } from './record/parse-history.ts';
export {
  type MessageRecord,
  type RecordableSession,
  RecordedSession,
  type RecordedSessionOptions,
  type SessionMessage,
} from './record/recorded-session.ts';
export {
  type Attempt,
  monotonicNs,
  type OpenOperation,
  openHistoryFile,
  Recorder,
  type RecorderOptions,
  writeAllSync,
} from './record/recorder.ts';
