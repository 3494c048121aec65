/** Several enqueues, acknowledgements and statements of the application's own SQL, all or nothing. */
import Type, { type Static } from 'typebox';
import { NewMessage, QueueName, queueLimits, Receipts } from './queue.ts';

const closed = { additionalProperties: false } as const;

export const transactionLimits = {
  /** Of each kind, in one transaction. */
  operationsMax: 1_000,
  sqlCharactersMax: 64 * 1024,
  parametersMax: 1_000,
} as const;

/** What JSON has no literal for, or would change in silence, is an object of one key. */
export const SqlValue = Type.Union(
  [
    Type.Null(),
    Type.Number({ description: 'A whole one within 2^53' }),
    Type.String(),
    Type.Object({ integer: Type.String({ description: 'Digits: an integer of up to 64 bits' }) }, closed),
    Type.Object({ real: Type.String({ description: 'A number as text; Infinity too' }) }, closed),
    Type.Object({ base64: Type.String({ description: 'Bytes' }) }, closed),
  ],
  { description: 'A value of SQLite' },
);
export type SqlValue = Static<typeof SqlValue>;

export const Statement = Type.Object(
  {
    sql: Type.String({ maxLength: transactionLimits.sqlCharactersMax, description: 'One statement' }),
    parameters: Type.Optional(
      Type.Union(
        [
          Type.Array(SqlValue, { maxItems: transactionLimits.parametersMax }),
          Type.Record(Type.String(), SqlValue, { maxProperties: transactionLimits.parametersMax }),
        ],
        { description: 'By place, or by name without its sign' },
      ),
    ),
  },
  closed,
);
export type Statement = Static<typeof Statement>;

const listOf = <T extends Type.TSchema>(item: T, description: string) =>
  Type.Optional(Type.Array(item, { maxItems: transactionLimits.operationsMax, description }));

export const Transaction = Type.Object(
  {
    execute: listOf(Statement, 'Run one after the other; rows and messages commit together'),
    acknowledge: listOf(
      Type.Object({ queue: QueueName, ...Receipts.properties }, closed),
      'Messages that are consumed by the commit',
    ),
    enqueue: listOf(
      Type.Object(
        {
          queue: QueueName,
          messages: Type.Array(NewMessage, { minItems: 1, maxItems: queueLimits.messagesPerCallMax }),
        },
        closed,
      ),
      'Messages that are there once it is committed',
    ),
  },
  { ...closed, minProperties: 1 },
);
export type Transaction = Static<typeof Transaction>;

export const StatementResult = Type.Object(
  {
    rows: Type.Array(Type.Record(Type.String(), SqlValue)),
    changes: Type.Integer({ description: 'Rows that it inserted, updated or deleted itself' }),
    lastInsertRowid: Type.Union([SqlValue], { description: 'Null if it inserted none' }),
  },
  closed,
);
export type StatementResult = Static<typeof StatementResult>;

export const Committed = Type.Object(
  {
    ids: Type.Array(Type.Array(Type.String()), { description: 'A list for each entry of enqueue' }),
    results: Type.Array(StatementResult, { description: 'One for each entry of execute' }),
  },
  closed,
);
export type Committed = Static<typeof Committed>;
