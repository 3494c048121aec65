import { ClaimLedger } from '@shardlab/contract';
import { claims } from '@shardlab/lab';
import type { App } from '../http/app-types.ts';
import type { RunStore } from '../store/run-store.ts';

export function claimRoutes(app: App, { runs }: { runs: RunStore }): void {
  app.get(
    '/api/claims',
    {
      schema: {
        summary: 'Every claim with its verdict in the newest finished run that judged it',
        tags: ['runs'],
        response: { 200: ClaimLedger },
      },
    },
    async (): Promise<ClaimLedger> => {
      const verdicts = runs.lastVerdicts();
      return {
        claims: claims.map(({ id, title, document, grade }) => {
          const found = verdicts.get(id);
          if (found === undefined) return { id, title, document, grade, last: null };
          const { id: _id, title: _title, document: _document, grade: _grade, ...last } = found;
          return { id, title, document, grade, last };
        }),
      };
    },
  );
}
