/** How the server exits when it cannot continue, and the exit codes that tell its supervisor the reason. */
import type { QueueError, QueueErrorCode } from '@shardlab/engine';

/** Documented in `docs/operations.md`. 0: ended as asked. 1: could not start, or did not shut down in order. */
export const exitCodes = {
  failed: 1,
  /** The processes of an instance cannot be kept up. */
  clusterLost: 3,
  /** Another server has taken the data folder over. */
  deposed: 4,
  /** The instance inside the server stopped: its storage failed. */
  instanceFailed: 5,
  /** The writer of the instance inside the server hangs. */
  writerSilent: 6,
} as const;

const byErrorCode: Partial<Record<QueueErrorCode, number>> = {
  PROCESS_RESTARTS_EXHAUSTED: exitCodes.clusterLost,
  CLUSTER_DEPOSED: exitCodes.deposed,
  INSTANCE_FENCED: exitCodes.deposed,
  WRITER_SILENT: exitCodes.writerSilent,
};

/** The exit code for an error after which the server must be started anew. */
export function exitCodeOf({ code }: QueueError): number {
  return byErrorCode[code] ?? exitCodes.instanceFailed;
}

/**
 * Ends the process at once, whatever its threads do. `process.exit` waits for them, so it never returns while a writer
 * thread is stuck inside SQLite; a new program in the same process ends them and still has an exit code.
 */
export function exitNow(exitCode: number): never {
  try {
    process.execve?.('/bin/sh', ['sh', '-c', `exit ${exitCode}`], {});
  } catch {
    // No shell, or no such call on this system.
  }
  process.exit(exitCode);
}
