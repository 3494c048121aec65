/** Bugs of what queues do beside plain delivery: delays, retries, holds, topics, evacuation, payloads, several instances, unsharded queues. */
import type { SourceEdit } from '../source-edit.ts';
import type { Plant } from './plant.ts';

const logCursor = 'log/log-cursor.ts';
const cursorDeliveries = 'log/cursor-deliveries.ts';
const timedHolds = 'queues/timed-holds.ts';
const retries = 'queues/retries.ts';
const forwardReceiver = 'forwarding/forward-receiver.ts';
const outbound = 'forwarding/outbound-forwarding.ts';

/** Removes assertions of the engine that would stop the instance before a client sees the effect of the bug. */
const withoutAssertions: readonly SourceEdit[] = [
  {
    file: cursorDeliveries,
    find: 'if (next === undefined) this.#reject(delivery, command);',
    replace: 'if (next === undefined) return;',
  },
  { file: cursorDeliveries, find: "this.#reject(delivery, 'consume');", replace: '' },
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

export const featurePlants: readonly Plant[] = [
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
        file: 'queues/delayed-messages.ts',
        find: 'delayClock.nowMs() + message.delayMs!;',
        replace: 'delayClock.nowMs() + Math.floor(message.delayMs! / 2);',
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
        find: '.write({ runs: [run], deliveries, bytes, sync, background: true, ...staged.hooks })',
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
        find: '.write({ runs: [run], deliveries, bytes, sync, background: true, ...staged.hooks })',
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
        find: "this.#end(first, 'expire');\n      expired.push(first);",
        replace: 'this.#byExpiry.removeAt(first.expiryIndex);\n      expired.push(first);',
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
        find: 'for (const message of held) this.tables.release(message, this.holder);',
        replace:
          'for (const message of held) { if (message.id % 5 > 0) { this.tables.release(message, this.holder); continue; } this.tables.apply([], [{ holder: this.holder, consumed: [{ crc: 0, ...message }] }], 0); }',
      },
    ],
  },
];
