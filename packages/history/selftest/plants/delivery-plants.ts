/** Bugs of delivery: the cursors of a log, the order of messages, the shard that is chosen. */
import type { Plant } from './plant.ts';

const logCursor = 'log/log-cursor.ts';
const cursorDeliveries = 'log/cursor-deliveries.ts';

export const deliveryPlants: readonly Plant[] = [
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
          "if (delivery.deliveryCount === 1 && delivery.firstSeq % 7 === 0) this.#addReturned([{ ...delivery, state: 'returned' }]);\n    this.held += delivery.count;\n    if (delivery.deliveryCount > 1)",
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
        find: 'this.#addReturned([rest]);',
        replace: 'this.#addReturned([returned]); void rest;',
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
        find: 'const redelivered = this.deliveries.redeliver(options);\n    return redelivered + this.#deliverNew(options, options.max - redelivered);',
        replace:
          'const fresh = this.#deliverNew(options, options.max);\n    return fresh + this.deliveries.redeliver({ ...options, max: options.max - fresh });',
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
        find: 'new Heap((a, b) => a.firstSeq < b.firstSeq);',
        replace: 'new Heap((a, b) => a.firstSeq > b.firstSeq);',
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
];
