/** Several enqueues, acknowledgements and statements of the application's own SQL, all or nothing. */
import Type, { type Static } from 'typebox';
import { Base64, NewMessage, Receipts } from './message.ts';
import { patterns } from './patterns.ts';
import { QueueName } from './queue.ts';
import { queueLimits } from './queue-limits.ts';

const closed = { additionalProperties: false } as const;

export const transactionLimits = {
  /** Operations of each kind in one transaction. */
  operationsMax: 1_000,
  sqlCharactersMax: 64 * 1024,
  parametersMax: 1_000,
} as const;

/** A value that JSON cannot express, or would change silently, is an object with one key. */
export const SqlValue = Type.Union(
  [
    Type.Null(),
    Type.Number({
      minimum: Number.MIN_SAFE_INTEGER,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Larger ones are given as text',
    }),
    Type.String(),
    Type.Object(
      {
        integer: Type.String({
          pattern: patterns.integer.pattern,
          description: 'Of up to 64 bits, as digits',
        }),
      },
      closed,
    ),
    Type.Object(
      {
        real: Type.String({
          pattern: patterns.real.pattern,
          description: 'A number as text, which may be Infinity',
        }),
      },
      closed,
    ),
    Type.Object({ base64: Base64 }, closed),
  ],
  { description: 'An SQLite value' },
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
        { description: 'By position, or by name without the prefix' },
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
    execute: listOf(Statement, 'Statements, run in order; rows and messages commit together'),
    acknowledge: listOf(
      Type.Object({ queue: QueueName, ...Receipts.properties }, closed),
      'Messages that the commit consumes',
    ),
    enqueue: listOf(
      Type.Object(
        {
          queue: QueueName,
          messages: Type.Array(NewMessage, { minItems: 1, maxItems: queueLimits.messagesPerCallMax }),
        },
        closed,
      ),
      'Messages that the commit enqueues',
    ),
  },
  { ...closed, minProperties: 1 },
);
export type Transaction = Static<typeof Transaction>;

export const StatementResult = Type.Object(
  {
    rows: Type.Array(Type.Record(Type.String(), SqlValue)),
    changes: Type.Integer({ description: 'Rows that the statement itself inserted, updated or deleted' }),
    lastInsertRowid: Type.Union([SqlValue], { description: 'Null if no row was inserted' }),
  },
  closed,
);
export type StatementResult = Static<typeof StatementResult>;

export const Committed = Type.Object(
  {
    ids: Type.Array(Type.Array(Type.String()), { description: 'One list for each entry of enqueue' }),
    results: Type.Optional(
      Type.Array(StatementResult, {
        description:
          'One for each entry of execute. Absent in the answer to a repeat that has any: they are not stored',
      }),
    ),
  },
  closed,
);
export type Committed = Static<typeof Committed>;
