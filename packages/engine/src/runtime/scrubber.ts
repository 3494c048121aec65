/** Scrubs the files of an instance periodically, and keeps the findings until a later scrub finds them repaired. */
import type { DamageFinding, ScrubStats } from '../api/instance-stats.ts';
import type { Ports, Timer } from '../model/ports.ts';
import { ScrubThread } from '../storage/threads/scrub-thread-client.ts';

/** The first scrub begins so soon after the opening, unless the interval is shorter. */
const firstAfterMs = 60_000;

export interface ScrubberOptions {
  dir: string;
  instancePath: string;
  /** Null if another instance of the cluster scrubs the unsharded file. */
  unshardedPath(): string | null;
  intervalMs: number;
  ports: Pick<Ports, 'clock' | 'timers'>;
  /** Called for damage that the scrub before did not find. */
  onFound(finding: DamageFinding): void;
}

export class Scrubber {
  readonly #options: ScrubberOptions;
  #stats: ScrubStats = { completed: 0, lastCompletedAtMs: null, findings: [] };
  #timer: Timer;
  #running: ScrubThread | undefined;
  #closed = false;

  constructor(options: ScrubberOptions) {
    this.#options = options;
    this.#timer = this.#scheduleIn(Math.min(firstAfterMs, options.intervalMs));
  }

  get stats(): ScrubStats {
    return this.#stats;
  }

  #scheduleIn(ms: number): Timer {
    return this.#options.ports.timers.after(ms, () => void this.#scrub());
  }

  async #scrub(): Promise<void> {
    const { dir, instancePath, unshardedPath, intervalMs } = this.#options;
    try {
      this.#running = new ScrubThread({ dir, instancePath, unshardedPath: unshardedPath() });
      this.#record(await this.#running.faults);
    } catch {
      // The thread could not be started, or the instance is being closed: the next scrub tries again.
    }
    this.#running = undefined;
    if (!this.#closed) this.#timer = this.#scheduleIn(intervalMs);
  }

  #record(faults: readonly string[]): void {
    const nowMs = this.#options.ports.clock.epochMs();
    const before = new Map(this.#stats.findings.map((finding) => [finding.message, finding]));
    const findings = [...new Set(faults)].map(
      (message) => before.get(message) ?? { message, foundAtMs: nowMs },
    );
    this.#stats = { completed: this.#stats.completed + 1, lastCompletedAtMs: nowMs, findings };
    for (const finding of findings) if (!before.has(finding.message)) this.#options.onFound(finding);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer.cancel();
    await this.#running?.close();
  }
}
