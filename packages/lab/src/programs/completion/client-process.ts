/** The trial's end of its client process. */
import { fileURLToPath } from 'node:url';
import { LabError } from '../../errors.ts';
import { ChildChannel } from '../../trial/child-channel.ts';
import type { FromClient, ToClient } from './client-job.ts';

const clientFile = fileURLToPath(new URL('./client.ts', import.meta.url));

/** If the process fails, all calls that wait for its messages reject with `WORKER_FAILED`. */
export class ClientProcess extends ChildChannel<FromClient, ToClient> {
  constructor() {
    super(clientFile);
  }

  protected handles(message: FromClient): boolean {
    if (message.type !== 'failed') return false;
    const { message: sentence, code, stack } = message;
    this.fail(`failed: ${sentence}`, { code, message: sentence, stack });
    return true;
  }

  protected errorOf(what: string, stderr: string, cause: unknown): LabError {
    const said = {
      ...(stderr === '' ? {} : { stderr }),
      ...(cause instanceof Error || !cause ? {} : { cause }),
    };
    return new LabError('WORKER_FAILED', {
      message: `The client process ${what}`,
      details: said,
      ...(cause instanceof Error ? { cause } : {}),
    });
  }
}
