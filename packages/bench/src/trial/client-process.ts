/** The bench's end of a client process. */
import { fileURLToPath } from 'node:url';
import { ChildChannel } from '@shardlab/lab';
import type { FromClient, ToClient } from './job.ts';

const clientFile = fileURLToPath(new URL('./client.ts', import.meta.url));

export class ClientProcess extends ChildChannel<FromClient, ToClient> {
  constructor() {
    super(clientFile);
  }

  protected handles(message: FromClient): boolean {
    if (message.type !== 'failed') return false;
    this.fail(`failed: ${message.message}`);
    return true;
  }

  protected errorOf(what: string, stderr: string, cause: unknown): Error {
    return new Error(`The client process ${what}${stderr === '' ? '' : `\n${stderr}`}`, { cause });
  }
}
