import { Committed, IdempotencyHeaders, Transaction } from '@shardlab/contract';
import type { App } from '../http/app-types.ts';
import { markReplayed, readIdempotencyKey, withReplayedHeader } from '../http/idempotency.ts';
import { queueRefusals } from '../http/refusals.ts';
import { limits } from '../limits.ts';
import type { TransactionService } from '../queues/transaction-service.ts';

export function transactionRoutes(app: App, { transactions }: { transactions: TransactionService }): void {
  app.post(
    '/api/transactions',
    {
      bodyLimit: limits.enqueueBodyBytes,
      schema: {
        summary: 'Several enqueues, acknowledgements and SQL statements of your own, all or nothing',
        tags: ['transactions'],
        headers: IdempotencyHeaders,
        body: Transaction,
        response: { 200: withReplayedHeader(Committed), ...queueRefusals },
      },
    },
    async (request, reply) => {
      const key = readIdempotencyKey(request);
      const { committed, replayed } = await transactions.commit(request.body, key);
      markReplayed(reply, replayed);
      return committed;
    },
  );
}
