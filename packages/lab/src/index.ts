/** The public API of the lab. Command line, server and tests all use it. */

export {
  type CalibrateOptions,
  type CalibrationProgress,
  calibrate,
  calibrationMs,
} from './calibrate/calibrate.ts';
export { type CalibrateInProcessOptions, calibrateInProcess } from './calibrate/calibrate-in-process.ts';
export { LabError, type LabErrorCode, labErrorRegistry } from './errors/errors.ts';
export type { ScenarioProblem } from './errors/scenario-problems.ts';
export {
  bundledHardwareFolder,
  calibratedId,
  hardwareSchemaFileName,
  readHardwareFolder,
} from './hardware/hardware-folder.ts';
export { hardwareText } from './hardware/hardware-text.ts';
export { type LoadedHardware, loadHardware } from './hardware/load-hardware.ts';
export { parseHardware } from './hardware/parse-hardware.ts';
export { bestEvidence } from './judging/best-evidence.ts';
export type { JudgeContext } from './judging/judgement.ts';
export {
  appendVerdicts,
  historyFileName,
  readVerdicts,
  type StoredVerdict,
  verdictsOf,
} from './judging/verdict-history.ts';
export { readLessonFolder } from './lessons/lesson-folder.ts';
export { parseLesson } from './lessons/parse-lesson.ts';
export { clientRoundTrip, flowControl, retryPause, serverCall } from './meters/load-waits.ts';
export { measuredWorkloads, newestOfEach } from './model/measured-workloads.ts';
export { expandSweep } from './programs/expand-sweep.ts';
export { codeFingerprint } from './recorded/code-fingerprint.ts';
export {
  listRecorded,
  type RecordedHead,
  type RecordedText,
  readRecorded,
  recordedRunId,
  writeRecorded,
} from './recorded/recorded-run.ts';
export { type RecordedVerdict, recordedVerdicts } from './recorded/recorded-verdicts.ts';
export { assertSystemsAvailable } from './run/available-systems.ts';
export { diskBytesMax, planFigures, planLoad, planRun, type RunPlan, trialInWords } from './run/plan-run.ts';
export { assertRunParams } from './run/run-params.ts';
export { applyRunEvent, newRun } from './run/run-state.ts';
export { type StartRunOptions, startRun } from './run/start-run.ts';
export { startRunInThread } from './run/start-run-in-thread.ts';
export { type ParsedScenario, parseScenario } from './scenario/parse-scenario.ts';
export { bundledScenarioFolder, readScenarioFolder, readScenarios } from './scenario/scenario-folder.ts';
export { hardwareSchemaText, scenarioSchemaText } from './scenario/scenario-schema.ts';
export { bundledStudies, bundledStudyFolder, StudyRegistry } from './studies/registry.ts';
export type { Claim, NotMeasured, Study } from './studies/study.ts';
export { removeAbandonedScratch } from './trial/scratch-folder.ts';
