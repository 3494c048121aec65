/** The bench's end of a client process. */
import { fileURLToPath } from 'node:url';
import { ChildEnd } from '@shardlab/lab';
import type { FromClient, ToClient } from './job.ts';

const clientFile = fileURLToPath(new URL('./client.ts', import.meta.url));

export class ClientProcess extends ChildEnd<FromClient, ToClient> {
  constructor() {
    super(clientFile);
  }

  protected takes(message: FromClient): boolean {
    if (message.type !== 'failed') return false;
    this.fail(`failed: ${message.message}`);
    return true;
  }

  protected errorOf(what: string, stderr: string, cause: unknown): Error {
    return new Error(`the client process ${what}${stderr === '' ? '' : `\n${stderr}`}`, { cause });
  }
}
