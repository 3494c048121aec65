/** The ports of a real process of a cluster. */
import { fork } from 'node:child_process';
import { nodePorts } from '../node-ports.ts';
import type { ClusterPorts } from './processes.ts';

export const nodeClusterPorts: ClusterPorts = {
  ...nodePorts,
  processes: {
    ...nodePorts.processes,
    usage() {
      const { user, system } = process.cpuUsage();
      return { cpuUs: user + system, rssBytes: process.memoryUsage.rss() };
    },
    fork: (module, { execArgv }) =>
      fork(module, [], { execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
    kill: (pid) => {
      try {
        return process.kill(pid, 'SIGKILL');
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === 'ESRCH';
      }
    },
  },
};
