/**
 * Bugs that the checker must find, each as edits of the engine's sources. The texts are found exactly once, or the test of
 * this table fails: when code moves, only this table changes.
 */
import type { ViolationKind } from '../src/index.ts';
import type { SourceEdit } from './source-edit.ts';
import type { WorkloadName } from './workloads.ts';

export interface Plant {
  name: string;
  workload: WorkloadName;
  /** What the checker may call it. */
  kinds: readonly ViolationKind[];
  edits: readonly SourceEdit[];
}

const instanceFile = 'storage/instance-file/instance-file.ts';
const logCursor = 'log/log-cursor.ts';
const cursorDeliveries = 'log/cursor-deliveries.ts';
const group = 'commit/group.ts';
const transaction = 'queues/sharded-transaction.ts';
const timedHolds = 'queues/timed-holds.ts';
const retries = 'queues/retries.ts';
const forwardReceiver = 'forwarding/forward-receiver.ts';
const outbound = 'forwarding/outbound-forwarding.ts';

/** The engine's own assertions would stop the instance before a client sees what is wrong. */
const withoutAssertions: readonly SourceEdit[] = [
  {
    file: cursorDeliveries,
    find: 'if (next === undefined) this.#reject(delivery, command);',
    replace: 'if (next === undefined) return;',
  },
  {
    file: logCursor,
    find: 'const { held, paused, backlog, firstSeq } = this;',
    replace: 'if (this.held < 1e9) return; const { held, paused, backlog, firstSeq } = this;',
  },
  {
    file: logCursor,
    find: 'if (error instanceof InvariantViolation) this.log.stopInstance(error);\n      throw error;',
    replace: '',
  },
];

export const plants: readonly Plant[] = [
  {
    name: 'acknowledged groups wait for a later commit',
    workload: 'plain',
    kinds: ['loss', 'doubling', 'torn'],
    edits: [
      {
        file: instanceFile,
        find: '      this.#commit.run();\n    } catch',
        replace:
          '      if (group.groupNumber % 6 === 0) this.#commit.run(); else this.#transactionOpen = true;\n    } catch',
      },
      {
        file: instanceFile,
        find: "if (group.sync === 'FULL') this.#acknowledgedGroup",
        replace: "if (group.sync === 'FULL' && !this.#transactionOpen) this.#acknowledgedGroup",
      },
    ],
  },
  {
    name: 'some consumption is not written',
    workload: 'plain',
    kinds: ['doubling', 'torn'],
    edits: [
      {
        file: instanceFile,
        find: 'this.#consumption.write(delta, group.groupNumber, delta.ranges);',
        replace:
          'if (group.groupNumber % 3 > 0) this.#consumption.write(delta, group.groupNumber, delta.ranges);',
      },
    ],
  },
  {
    name: 'the last message of a consumed range is left out',
    workload: 'plain',
    kinds: ['doubling', 'torn'],
    edits: [
      {
        file: group,
        find: 'inPartition.push([from, to]);',
        replace: 'inPartition.push([from, Math.max(from + 1, to - 1)]);',
      },
    ],
  },
  {
    name: 'recovery forgets a row of what was consumed',
    workload: 'plain',
    kinds: ['doubling', 'torn'],
    edits: [
      {
        file: 'storage/instance-file/recovery/recover-partitions.ts',
        find: 'terminalDeltas: terminal.map(',
        replace: 'terminalDeltas: terminal.slice(1).map(',
      },
    ],
  },
  {
    name: 'a merge of consumption rows drops one',
    workload: 'slow',
    kinds: ['doubling', 'torn'],
    edits: [
      {
        file: 'storage/instance-file/tables/partition-table.ts',
        find: 'const rowsPerSubscriberMax = 256;',
        replace: 'const rowsPerSubscriberMax = 3;',
      },
      {
        file: 'storage/instance-file/tables/partition-table.ts',
        find: 'const rowsPerSubscriberMin = 16;',
        replace: 'const rowsPerSubscriberMin = 3;',
      },
      {
        file: 'storage/instance-file/tables/partition-table.ts',
        find: 'mergeRanges(deltas.flatMap(',
        replace: 'mergeRanges(deltas.slice(1).flatMap(',
      },
    ],
  },
  {
    name: 'a transaction loses the messages of its second shard',
    workload: 'keyed',
    kinds: ['loss'],
    edits: [
      { file: group, find: 'of member.runs) {', replace: 'of member.runs.slice(0, 1)) {' },
      {
        file: group,
        find: 'for (const run of content.runs) appendRun(run);',
        replace: 'for (const run of content.runs.slice(0, 1)) appendRun(run);',
      },
    ],
  },
  {
    name: 'a transaction that enqueues does not consume',
    workload: 'plain',
    kinds: ['doubling', 'torn'],
    edits: [
      {
        file: group,
        find: 'addDeliveries(part?.consumed ?? consumed, member.deliveries);',
        replace:
          'if (member.runs.length === 0) addDeliveries(part?.consumed ?? consumed, member.deliveries);',
      },
    ],
  },
  {
    name: 'a rollback leaves what it enqueued',
    workload: 'plain',
    kinds: ['invention'],
    edits: [
      {
        file: transaction,
        find: 'const { dispatcher, holds, payloads } = this.#context;',
        replace:
          'const { dispatcher, holds, payloads, groupCommit } = this.#context; if (this.#staged.runs.length > 0 && this.#staged.deliveries.length === 0) void groupCommit.commit(this.#staged).catch(() => undefined);',
      },
    ],
  },
  {
    name: 'a closed session commits instead of rolling back',
    workload: 'plain',
    kinds: ['loss', 'invention'],
    edits: [
      {
        file: 'runtime/instance-session.ts',
        find: 'await this.#guard.run(transaction.rollback());\n  }\n\n  /** The next operation',
        replace: 'await this.#guard.run(transaction.commit());\n  }\n\n  /** The next operation',
      },
    ],
  },
  {
    name: 'staged messages are visible before their commit',
    workload: 'plain',
    kinds: ['invention'],
    edits: [
      {
        file: transaction,
        find: 'this.#staged.bytes += stageMessage({ slab, run, message, bytesNeeded, stamp });',
        replace:
          'const early = newStagedTransaction(); const earlyRun = newStagedRun(log); early.runs.push(earlyRun); early.bytes += stageMessage({ slab, run: earlyRun, message, bytesNeeded, stamp }); void this.#context.groupCommit.commit(early);',
      },
    ],
  },
  {
    name: 'a rollback forgets one of its messages',
    workload: 'plain',
    kinds: ['loss'],
    edits: [
      {
        file: transaction,
        find: 'dispatcher.nack(this.#staged.deliveries.filter(',
        replace: 'dispatcher.nack(this.#staged.deliveries.slice(1).filter(',
      },
    ],
  },
  {
    name: 'the window moves one message too little',
    workload: 'plain',
    kinds: ['doubling'],
    edits: [
      {
        file: logCursor,
        find: 'const end = this.#window.advance(currentRun, count);',
        replace:
          'const end = this.#window.advance(currentRun, count > 1 && firstSeq % 5 === 0 ? count - 1 : count);',
      },
    ],
  },
  {
    name: 'the window moves one message too far',
    workload: 'plain',
    kinds: ['loss'],
    edits: [
      {
        file: logCursor,
        find: 'const count = this.#deliverableCount(currentRun, max - taken);',
        replace:
          'if (this.#window.nextSeq % 17 === 0) { this.#window.advance(currentRun, 1); continue; } const count = this.#deliverableCount(currentRun, max - taken);',
      },
    ],
  },
  {
    name: 'a held message is ready as well',
    workload: 'plain',
    kinds: ['doubling'],
    edits: [
      {
        file: cursorDeliveries,
        find: 'this.held += delivery.count;\n    if (delivery.deliveryCount > 1)',
        replace:
          "if (delivery.deliveryCount === 1 && delivery.firstSeq % 7 === 0) this.#returned.push({ ...delivery, state: 'returned' });\n    this.held += delivery.count;\n    if (delivery.deliveryCount > 1)",
      },
    ],
  },
  {
    name: 'the rest of a split run is delivered again',
    workload: 'plain',
    kinds: ['doubling'],
    edits: [
      {
        file: cursorDeliveries,
        find: 'this.#returned.push(rest);',
        replace: 'this.#returned.push(returned); void rest;',
      },
    ],
  },
  {
    name: 'each message of a delivery is read from its start',
    workload: 'plain',
    kinds: ['doubling'],
    edits: [
      {
        file: 'queues/dispatcher.ts',
        find: 'offset = recordEnd(buffer, offset);',
        replace: 'if (seq % 9 !== 0) offset = recordEnd(buffer, offset);',
      },
    ],
  },
  {
    name: 'returned messages are delivered last',
    workload: 'plain',
    kinds: ['order'],
    edits: [
      {
        file: logCursor,
        find: 'const redelivered = this.#deliveries.redeliver(options);\n    return redelivered + this.#deliverNew(options, options.max - redelivered);',
        replace:
          'const fresh = this.#deliverNew(options, options.max);\n    return fresh + this.#deliveries.redeliver({ ...options, max: options.max - fresh });',
      },
    ],
  },
  {
    name: 'returned messages are delivered the last one first',
    workload: 'plain',
    kinds: ['order'],
    edits: [
      {
        file: cursorDeliveries,
        find: 'this.#returned.sort((a, b) => b.firstSeq - a.firstSeq);',
        replace: 'this.#returned.sort((a, b) => a.firstSeq - b.firstSeq);',
      },
    ],
  },
  {
    name: 'priorities are swapped',
    workload: 'lanes',
    kinds: ['order'],
    edits: [
      {
        file: 'queues/sharded-queues.ts',
        find: 'priorityOfLog(b!.log.id) - priorityOfLog(a!.log.id)',
        replace: 'priorityOfLog(a!.log.id) - priorityOfLog(b!.log.id)',
      },
    ],
  },
  {
    name: 'a session enqueues to any shard',
    workload: 'plain',
    kinds: ['order'],
    edits: [
      {
        file: 'queues/sharded-queues.ts',
        find: '? this.#shardFor(session)\n',
        replace: '? this.#shards[Math.floor(Math.random() * this.#shards.length)]!\n',
      },
    ],
  },
  {
    name: 'a group key does not choose the shard',
    workload: 'keyed',
    kinds: ['order'],
    edits: [
      {
        file: 'queues/sharded-queues.ts',
        find: 'hashGroupKey(groupKey) %',
        replace: 'Math.floor(Math.random() * 1e6) %',
      },
    ],
  },
  {
    name: 'the backlog read skips a run',
    workload: 'backlog',
    kinds: ['loss', 'order'],
    edits: [
      {
        file: 'log/message-cache.ts',
        find: 'if (run.firstSeq + run.count > this.#endSeq && run.firstSeq < committedEndSeq) this.#addRun(run);',
        replace:
          'if (run.firstSeq % 5 > 0 && run.firstSeq + run.count > this.#endSeq && run.firstSeq < committedEndSeq) this.#addRun(run);',
      },
    ],
  },
  {
    name: 'a due message is moved twice',
    workload: 'delayed',
    kinds: ['doubling'],
    edits: [
      {
        file: 'queues/delayed-messages.ts',
        find: "rows.map((message) => ({ kind: 'delete delayed', message })",
        replace:
          "rows.filter(({ delayedId }) => { const moved = ((globalThis as any).moved ??= new Set()); const again = moved.has(delayedId); moved.add(delayedId); return again || delayedId % 3 > 0; }).map((message) => ({ kind: 'delete delayed', message })",
      },
    ],
  },
  {
    name: 'a due message is deleted and not moved',
    workload: 'delayed',
    kinds: ['loss'],
    edits: [
      {
        file: 'queues/delayed-messages.ts',
        find: 'stageRecord(slab, run, record);',
        replace: 'if (delayedId % 3 > 0) stageRecord(slab, run, record);',
      },
    ],
  },
  {
    name: 'half of the delay is enough',
    workload: 'delayed',
    kinds: ['early'],
    edits: [
      {
        file: transaction,
        find: 'const dueAtMs = delayClock.nowMs() + message.delayMs!;',
        replace: 'const dueAtMs = delayClock.nowMs() + Math.floor(message.delayMs! / 2);',
      },
    ],
  },
  {
    name: 'the exception queue gets a copy',
    workload: 'poison',
    kinds: ['doubling'],
    edits: [
      {
        file: retries,
        find: '.write({ runs: [run], deliveries, bytes, sync, ...staged.hooks })',
        replace: '.write({ runs: [run], bytes, sync, ...staged.hooks }).then(() => nackAll(deliveries))',
      },
    ],
  },
  {
    name: 'a message past its attempts is dropped',
    workload: 'poison',
    kinds: ['loss'],
    edits: [
      {
        file: retries,
        find: '.write({ runs: [run], deliveries, bytes, sync, ...staged.hooks })',
        replace: '.write({ deliveries, sync, ...staged.hooks })',
      },
    ],
  },
  {
    name: 'a receipt is accepted after its hold expired',
    workload: 'timed',
    kinds: ['stale', 'doubling'],
    edits: [
      ...withoutAssertions,
      {
        file: timedHolds,
        find: "this.#end(hold, 'expire');\n        expired.push(hold);",
        replace: 'hold.expiresAtMs = Number.POSITIVE_INFINITY;\n        expired.push(hold);',
      },
    ],
  },
  {
    name: 'a receipt is accepted after its message was released',
    workload: 'timed',
    kinds: ['stale'],
    edits: [
      ...withoutAssertions,
      {
        file: 'queues/dispatcher.ts',
        find: 'for (const hold of holds) this.#options.holds.release(hold);\n',
        replace: 'for (const hold of holds) hold.expiresAtMs = Number.POSITIVE_INFINITY;\n',
      },
    ],
  },
  {
    name: 'a hold expires early',
    workload: 'timed',
    kinds: ['doubling'],
    edits: [
      {
        file: timedHolds,
        find: 'const expiresAtMs = this.#options.ports.clock.monotonicMs() + holdMs;',
        replace: 'const expiresAtMs = this.#options.ports.clock.monotonicMs() + holdMs / 8;',
      },
    ],
  },
  {
    name: 'an extended hold expires all the same',
    workload: 'timed',
    kinds: ['doubling'],
    edits: [
      {
        file: timedHolds,
        find: 'hold.expiresAtMs = this.#options.ports.clock.monotonicMs() + holdMs;',
        replace: '',
      },
    ],
  },
  {
    name: 'a subscriber misses messages',
    workload: 'topic',
    kinds: ['loss'],
    edits: [
      {
        file: logCursor,
        find: 'return this.name === undefined || isAddressedTo(buffer, start, this.name);',
        replace:
          "return this.name === undefined || (isAddressedTo(buffer, start, this.name) && !(this.name === 'west' && start % 7 === 3));",
      },
    ],
  },
  {
    name: "a subscriber gets others' messages",
    workload: 'topic',
    kinds: ['invention'],
    edits: [
      {
        file: logCursor,
        find: 'return this.name === undefined || isAddressedTo(buffer, start, this.name);',
        replace: 'return true;',
      },
    ],
  },
  {
    name: 'after a restart a subscriber begins with new messages',
    workload: 'topic',
    kinds: ['loss'],
    edits: [
      {
        file: 'queues/recovery.ts',
        find: 'firstSeqs.get(log.id) ?? log.nextSeq',
        replace: '(void firstSeqs, log.nextSeq)',
      },
    ],
  },
  {
    name: 'an evacuated message is left behind',
    workload: 'slow',
    kinds: ['loss'],
    edits: [
      {
        file: 'queues/evacuation.ts',
        find: 'for (const seq of seqs)\n      rows.push(',
        replace: 'for (const seq of seqs.slice(1))\n      rows.push(',
      },
    ],
  },
  {
    name: 'recovery forgets the evacuated messages',
    workload: 'slow',
    kinds: ['loss'],
    edits: [
      {
        file: 'queues/recovery.ts',
        find: 'cursor.recoverEvacuated(\n        evacuated.filter(',
        replace: 'cursor.recoverEvacuated(\n        ([] as typeof evacuated).filter(',
      },
    ],
  },
  {
    name: 'the second chunk of a payload is the first again',
    workload: 'streamed',
    kinds: ['damage'],
    edits: [
      {
        file: 'payloads/payload-stream.ts',
        find: 'next = readChunk({ payloadId, chunkIndex: chunkIndex + 1 });',
        replace: 'next = readChunk({ payloadId, chunkIndex });',
      },
      {
        file: 'payloads/payload-stream.ts',
        find: '(bytesLeft === 0 && sum !== crc)',
        replace: '(bytesLeft === 0 && sum !== crc && false)',
      },
    ],
  },
  {
    name: 'an instance has two hosts',
    workload: 'plain',
    kinds: ['exclusion'],
    edits: [
      {
        file: 'storage/catalog/membership.ts',
        find: 'if (host !== undefined && this.#processes.isAlive(host)) throw instanceInUseError(host);\n      return this.#replaceHost(instance, role',
        replace: 'return this.#replaceHost(instance, role',
      },
    ],
  },
  {
    name: 'an accepted batch is forwarded again',
    workload: 'forwarded',
    kinds: ['doubling'],
    edits: [
      {
        file: outbound,
        find: 'await this.#consumeForwarded(batchNumber, deliveries);\n    } else',
        replace:
          'if (batchNumber % 3 === 0 && deliveries.every(({ run }) => run.end > 0)) cancelDeliveries(deliveries); else await this.#consumeForwarded(batchNumber, deliveries);\n    } else',
      },
    ],
  },
  {
    name: 'a batch is accepted and not stored',
    workload: 'forwarded',
    kinds: ['loss'],
    edits: [
      {
        file: forwardReceiver,
        find: 'await commit();\n      return true;',
        replace: 'if (batch.batchNumber % 4 > 0) await commit();\n      return true;',
      },
    ],
  },
  {
    name: 'a batch is stored from its end',
    workload: 'forwarded',
    kinds: ['order'],
    edits: [
      {
        file: 'forwarding/take-batch.ts',
        find: 'const max = Math.min(messagesMax - count, takeMax);',
        replace: 'const max = Math.min(messagesMax - count, takeMax, 1);',
      },
      {
        file: 'forwarding/take-batch.ts',
        find: 'if (cursor.ready > 0) break;\n  }\n  return out;',
        replace: 'if (cursor.ready > 0) break;\n  }\n  return out.reverse();',
      },
    ],
  },
  {
    name: 'an unsharded message is consumed and not deleted',
    workload: 'unsharded',
    kinds: ['doubling'],
    edits: [
      {
        file: 'storage/unsharded/unsharded-tables.ts',
        find: 'for (const range of consumedRangesOf(consumed)) this.#remove(range, holder);',
        replace:
          'for (const range of consumedRangesOf(consumed)) { if (range.firstId % 5 > 0) { this.#remove(range, holder); continue; } const last = range.endId - 1; this.#remove({ ...range, endId: last }, holder); this.deliveries.release({ queueId: range.queueId, id: last }, holder); }',
      },
    ],
  },
  {
    name: 'an unsharded message that is released is deleted',
    workload: 'unsharded',
    kinds: ['loss'],
    edits: [
      {
        file: 'storage/unsharded/unsharded-file.ts',
        find: 'for (const delivery of held) this.tables.deliveries.release(delivery, this.holder);',
        replace:
          'for (const delivery of held) { if (delivery.id % 5 > 0) { this.tables.deliveries.release(delivery, this.holder); continue; } this.tables.apply([], [{ holder: this.holder, consumed: [delivery] }], 0); }',
      },
    ],
  },
];
