/** What the system says about a process. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished, vi } from 'vitest';
import { askPs, nodeProcesses } from '../src/node-processes.ts';
import { waiting } from './waiting.ts';

it('a process is stopped while a signal stops it, and not when it is gone', async () => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const pid = child.pid!;
  const hasPs = spawnSync('ps', ['-V']).error === undefined;
  const seen = () => [nodeProcesses.isStopped(pid), hasPs && askPs(pid).startsWith('T')];
  expect(seen()).toEqual([false, false]);
  child.kill('SIGSTOP');
  await vi.waitFor(() => expect(seen()).toEqual([true, hasPs]), waiting);
  child.kill('SIGCONT');
  await vi.waitFor(() => expect(seen()).toEqual([false, false]), waiting);
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  expect(nodeProcesses.isStopped(pid)).toBe(false);
});
