/** The trial's end of its client process. */
import { fileURLToPath } from 'node:url';
import type { LabError } from '../../errors.ts';
import { ChildChannel, workerFailed } from '../../trial/child-channel.ts';
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
    return workerFailed('The client process', { what, stderr, cause });
  }
}
