import { Committed, Transaction } from '@shardlab/contract';
import type { App } from '../http/app-types.ts';
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
        body: Transaction,
        response: { 200: Committed, ...queueRefusals },
      },
    },
    async (request) => transactions.commit(request.body),
  );
}
