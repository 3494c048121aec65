/**
 * Records trace events when a group closes. A message gets its number only then, and the number decides whether it is traced. So
 * its enqueue is recorded late, with the time stamp in its record.
 */
import type { LogTrace } from '../log/log-trace.ts';
import type { GroupNumber, Seq, SessionNumber } from '../model/ids.ts';
import { readEnqueuedAtMs, recordEnd } from '../model/message-record.ts';
import type { StagedRun } from './staged-transaction.ts';
import type { GroupMember } from './system-write.ts';

/** Records the messages of one run of a group's member. `group` is undefined with immediate visibility. */
export function traceNumbered(
  member: GroupMember,
  { log, segments }: StagedRun,
  group?: { groupNumber: GroupNumber; members: readonly unknown[] },
): void {
  const { trace } = log;
  if (trace === undefined) return;
  for (const { buffer, firstSeq, count, start } of segments) {
    let at = start;
    for (let seq = firstSeq; seq < firstSeq + count; seq += 1) {
      // Messages that the engine moves keep their id.
      if (member.kind === 'system write') trace.name(seq, buffer, at);
      else if (log.tracesNew(seq, 1))
        traceEnqueued(trace, seq, { session: member.session, enqueuedAtMs: readEnqueuedAtMs(buffer, at) });
      if (group !== undefined && log.traces(seq, 1)) {
        const { groupNumber, members } = group;
        trace.record('grouped', seq, 1, { group: groupNumber, others: members.length - 1 });
      }
      at = recordEnd(buffer, at);
    }
  }
}

function traceEnqueued(
  trace: LogTrace,
  seq: Seq,
  { session, enqueuedAtMs }: { session: SessionNumber; enqueuedAtMs: number },
): void {
  if (trace.queue.pending > 0) {
    trace.queue.pending -= 1;
    trace.request(seq);
  }
  const { clock } = trace.queue.ring;
  const agoMs = Math.max(0, clock.epochMs() - enqueuedAtMs);
  trace.record('enqueued', seq, 1, { session, atMs: clock.monotonicMs() - agoMs });
}
