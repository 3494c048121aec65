import { ClaimLedger, StudyList } from '@shardlab/contract';
import { bundledStudies } from '@shardlab/lab';
import type { App } from '../http/app-types.ts';
import type { ClaimHistory } from '../runs/claim-history.ts';

export function claimRoutes(app: App, { history }: { history: ClaimHistory }): void {
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
    (): StudyList => bundledStudies.describe(),
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
