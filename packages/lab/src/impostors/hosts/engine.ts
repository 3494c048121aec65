/** The engine's queue, slowed down to a formula's rate; its commits are durable. Embedded sessions only, without rows and streams. */
import type { WaitRecorder } from '@shardlab/engine';
import { type OpenHost, openHost as openEngine } from '../../programs/queue/trial/host.ts';
import { type HostSettings, pretenceOf } from '../pretence.ts';
import { pretendingSessions } from './pretending-session.ts';

export const openHost: OpenHost = async (config, clock) => {
  const { behaviour, params } = config.otherHost!.settings as HostSettings;
  const host = await openEngine({ ...config, otherHost: null }, clock);
  const pretend = pretendingSessions(
    pretenceOf(behaviour, params, config.instance),
    clock,
    // Of an instance in this process, as that of every embedded session is.
    host.waits as WaitRecorder,
  );
  return { ...host, openSession: () => pretend(host.openSession()) };
};
