/** What document A says in words beside its numbered claims and no scenario measures yet, with the reason. */
export interface NotMeasured {
  what: string;
  reason: string;
}

export const notMeasured: readonly NotMeasured[] = [
  {
    what: 'Backup, recovery and a standby database cover queues as they cover tables',
    reason: 'there is no standby; recovery is tested by crashes, not timed by a scenario',
  },
];
