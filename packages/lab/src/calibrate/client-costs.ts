/** The costs of the load generator for the model: what a message costs, and what a transaction. */
import { nonNegativeLeastSquares } from '@shardlab/model';
import { cpuOfGenerator } from '../programs/queue/trial/generator-costs.ts';

export interface ClientCosts {
  enqueueUs: number;
  dequeueUs: number;
  transactionUs: number;
}

const messages = 12_000;
const operationsPerTransactionSteps = [1, 4, 40] as const;

export async function measureClient(payloadBytes: number): Promise<ClientCosts> {
  const inOnly: TransactionTime[] = [];
  const outOnly: TransactionTime[] = [];
  // The first round warms the code up; only the second one counts.
  for (let round = 0; round < 2; round++) {
    inOnly.length = 0;
    outOnly.length = 0;
    for (const operations of operationsPerTransactionSteps) {
      const { inUs, outUs } = await cpuOfGenerator({ payloadBytes, operations, messages });
      inOnly.push({ operations, us: inUs });
      outOnly.push({ operations, us: outUs });
    }
  }
  const [enqueue, dequeue] = [lineThrough(inOnly), lineThrough(outOnly)];
  return {
    enqueueUs: enqueue.messageUs,
    dequeueUs: dequeue.messageUs,
    transactionUs: (enqueue.transactionUs + dequeue.transactionUs) / 2,
  };
}

interface TransactionTime {
  operations: number;
  us: number;
}

function lineThrough(lines: readonly TransactionTime[]): { messageUs: number; transactionUs: number } {
  const { factors } = nonNegativeLeastSquares(
    lines.map(({ operations }) => [1, 1 / operations]),
    lines.map(({ us }) => us),
  );
  const [messageUs, transactionUs] = factors as [number, number];
  return { messageUs, transactionUs };
}
