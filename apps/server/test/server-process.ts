/** The server as a process of its own, on a free port. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

export class ServerProcess {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;

  /** `through` is a command that starts the server: it gets the command line as its last arguments. */
  constructor(env: Record<string, string>, { through = [] }: { through?: string[] } = {}) {
    const { PATH = '', NODE_COMPILE_CACHE = '', NODE_OPTIONS = '' } = process.env;
    const [command = '', ...args] = [...through, process.execPath, main];
    this.child = spawn(command, args, { env: { PATH, NODE_COMPILE_CACHE, NODE_OPTIONS, PORT: '0', ...env } });
    this.child.stdout!.on('data', (data) => {
      this.stdout += String(data);
    });
    this.child.stderr!.on('data', (data) => {
      this.stderr += String(data);
    });
    this.ended = once(this.child, 'close').then(([code, signal]) => ({ code, signal }));
    onTestFinished(async () => {
      this.child.kill('SIGKILL');
      await this.ended;
    });
  }

  /** Resolves with the address once the server is ready; rejects if it ends before. */
  async ready(): Promise<string> {
    while (!/https?:\S+/.test(this.stdout)) {
      const what = await Promise.race([once(this.child.stdout!, 'data'), this.ended]);
      if (!Array.isArray(what) && !/https?:\S+/.test(this.stdout)) {
        throw new Error(`ended with ${what.code}: ${this.stderr}`);
      }
    }
    return /https?:\S+/.exec(this.stdout)![0];
  }
}
