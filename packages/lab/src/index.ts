/** The public API of the lab. Command line, server and tests all use it. */

export { type CalibrateOptions, calibrate } from './calibrate/calibrate.ts';
export { LabError, type LabErrorCode, labErrorRegistry } from './errors.ts';
export {
  bundledHardwareFolder,
  hardwareSchemaFileName,
  readHardwareFolder,
} from './hardware/hardware-folder.ts';
export { type LoadedHardware, loadHardware } from './hardware/load-hardware.ts';
export { parseHardware } from './hardware/parse-hardware.ts';
export type { JudgeContext } from './judging/judgement.ts';
export {
  appendVerdicts as keepVerdicts,
  byEvidence,
  readVerdicts,
  type StoredVerdict as KeptVerdict,
  verdictsOf,
} from './judging/verdict-history.ts';
export { measureRaw, type RawJob, type RawResult } from './raw/raw-limit.ts';
export { assertSystemsAvailable } from './run/available-systems.ts';
export { captureEnvironment } from './run/environment.ts';
export { planFigures, planRun, type RunPlan, trialInWords } from './run/plan-run.ts';
export { applyRunEvent, newRun } from './run/run-state.ts';
export { type StartRunOptions, startRun } from './run/start-run.ts';
export { startRunInThread } from './run/start-run-in-thread.ts';
export { expandSweep } from './scenario/expand-sweep.ts';
export { type ParsedScenario, parseScenario } from './scenario/parse-scenario.ts';
export { bundledScenarioFolder, readScenarioFolder } from './scenario/scenario-folder.ts';
export type { ScenarioProblem } from './scenario/scenario-problems.ts';
export { hardwareSchemaText, scenarioSchemaText } from './scenario/scenario-schema.ts';
export { bundledStudies, StudyRegistry } from './studies/registry.ts';
export type { Claim, NotMeasured, Study } from './studies/study.ts';
export type {
  ClientOptions,
  ConsumeOptions,
  Consumption,
  Delivery,
  DeliverySink,
  OpenClient,
  Producer,
  QueueClient,
} from './systems/driver.ts';
export { drivers } from './systems/drivers.ts';
export { engineServer } from './systems/engine-server.ts';
export { clientPackageVersion, installClientPackages } from './systems/peers/client-packages.ts';
export { nats, natsSynced, natsUnsynced } from './systems/peers/nats-server.ts';
export { postgres } from './systems/peers/postgres-server.ts';
export { cpuUsOfTrees } from './systems/process-cpu.ts';
export { startPulling } from './systems/pull-consumers.ts';
export { redis } from './systems/redis-server.ts';
export { accepts, findProgram, type Server, type ServerKind, spawnServer } from './systems/server.ts';
export { yieldToEventLoop } from './systems/yield-to-event-loop.ts';
export { BacklogGate } from './trial/backlog-gate.ts';
export { ChildChannel } from './trial/child-channel.ts';
export { type Clock, createMonotonicClock } from './trial/clock.ts';
export {
  createHistogram,
  encodeHistogram,
  type Histogram,
  latencyOf,
  mergeHistograms,
  recordMs,
} from './trial/latency.ts';
export { DeliveryOrder, Ledger, type LedgerReport, mergeLedgers } from './trial/ledger.ts';
export { PayloadCodec, type PayloadIdentity } from './trial/payload.ts';
