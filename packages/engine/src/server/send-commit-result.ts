/** Answers commits (format: `wire/protocol.ts`). */

import { type IdRun, idRunsBytes } from '../model/id-runs.ts';
import type { RequestNumber } from '../model/ids.ts';
import type { LazyCommitResult } from '../model/session-calls.ts';
import type { FrameWriter } from '../wire/frame-writer.ts';
import { replies } from '../wire/protocol.ts';
import { resultsToJson } from '../wire/sql-json.ts';

export function sendCommitResult(
  writer: FrameWriter,
  request: RequestNumber,
  result: LazyCommitResult,
): void {
  if (result.replayed) {
    writer.beginFrame(replies.replayed, request);
    writer.u8(result.hasLostResults ? 1 : 0);
    writer.idRuns(result.idRuns);
    writer.endFrame();
    return;
  }
  const { idRuns, results } = result;
  if (results.length === 0) {
    sendCommitted(writer, request, idRuns);
    return;
  }
  writer.beginFrame(replies.committedWithSqlResults, request);
  writer.u32(idRunsBytes(idRuns));
  writer.idRuns(idRuns);
  writer.remainingText(resultsToJson(results));
  writer.endFrame();
}

/** Sends the answer to a commit. Consecutive answers, such as those of a group, share a frame. */
export function sendCommitted(writer: FrameWriter, request: RequestNumber, idRuns: readonly IdRun[]): void {
  writer.continueFrame(replies.committed);
  writer.u32(request);
  writer.u32(idRuns.length);
  writer.idRuns(idRuns);
  writer.endFrame();
}
