/**
 * A service that writes as fast as it can and never stops by itself: like code that hangs and resumes, it ignores its signal and its
 * deactivation. Each write stores the next number and enqueues it with the epoch in the same commit, so a second writer would show as a
 * duplicate number. Acknowledged writes, and the error that ended the service, are lines of `journal`.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json, ServiceContext, SingletonService } from '../../src/api/service.ts';

const writeEveryMs = 3;

async function write({ journal }: { journal: string }, context: ServiceContext): Promise<void> {
  const { epoch } = context;
  try {
    const session = context.openSession();
    for (;;) {
      const { number } = (context.state as { number: number } | undefined) ?? { number: 0 };
      session.enqueue('written', { payload: `${epoch} ${number + 1}`, groupKey: 'one shard' });
      session.writeState({ number: number + 1 });
      await session.commit();
      appendFileSync(journal, `acknowledged ${epoch} ${number + 1}\n`);
      await pause(writeEveryMs);
    }
  } catch (error) {
    appendFileSync(journal, `ended ${epoch} ${(error as { code?: string }).code ?? String(error)}\n`);
  }
}

export function createService(options: Json): SingletonService {
  return {
    activate: (context) => void write(options as unknown as { journal: string }, context),
    deactivate: () => undefined,
  };
}
