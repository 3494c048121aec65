import { ClaimLedger, StudyList } from '@shardlab/contract';
import type { StudyRegistry } from '@shardlab/lab';
import type { App } from '../http/app-types.ts';
import type { ClaimHistory } from '../runs/claim-history.ts';

export interface ClaimRoutesOptions {
  history: ClaimHistory;
  studies: StudyRegistry;
}

export function claimRoutes(app: App, { history, studies }: ClaimRoutesOptions): void {
  app.get(
    '/api/studies',
    {
      schema: {
        summary:
          'The studies with their documents and claims, and the programs and systems that scenarios may name',
        tags: ['runs'],
        response: { 200: StudyList },
      },
    },
    (): StudyList => studies.describe(),
  );

  app.get(
    '/api/claims',
    {
      schema: {
        summary:
          'Every claim with the verdict that has the best evidence, from this server or the command line, and all its verdicts',
        tags: ['runs'],
        response: { 200: ClaimLedger },
      },
    },
    async (): Promise<ClaimLedger> => ({ claims: await history.ledger() }),
  );
}
