/**
 * CPU time of this thread so far, µs, to the microsecond.
 *
 * Linux brings a running thread's time up to date only at its clock ticks, every 4 ms on many machines, and
 * `process.threadCpuUsage` reads what was there at the last one: work of a few milliseconds seems to cost nothing, or twice
 * as much. Asking for the time of the process brings the calling thread's time up to date first (`thread_group_cputime` in
 * kernel/sched/cputime.c).
 */
export function threadCpuUs(): number {
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
