/** What document A says in words beside its numbered claims and no scenario measures yet, with the reason. */
export interface NotMeasured {
  what: string;
  reason: string;
}

export const notMeasured: readonly NotMeasured[] = [
  {
    what: 'Messages are forwarded from an instance with only enqueuers to one with only dequeuers',
    reason: 'a trial places an enqueuer and its dequeuers on one instance; no scenario parts them yet',
  },
  {
    what: 'A conversion from unsharded to sharded under load, step by step',
    reason: 'the engine has no command for it; a trial keeps one queue from beginning to end',
  },
  {
    what: 'Messages and rows of the application commit together without two-phase commit',
    reason: 'a trial has no statements of an application beside its messages',
  },
  {
    what: 'Backup, recovery and a standby database cover queues as they cover tables',
    reason: 'there is no standby; recovery is tested by crashes, not timed by a scenario',
  },
];
