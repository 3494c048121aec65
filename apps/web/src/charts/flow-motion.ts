/**
 * Animates the dashes of flow lines at ten steps per second instead of sixty: the page often runs on the machine that
 * is being measured, and smoother lines are not worth its CPU time. Nothing moves while the page is hidden, or has lost its server.
 */
export interface FlowMotion {
  clock: {
    /** Calls `tick` every `ms` milliseconds. The returned function stops it. */
    every(ms: number, tick: () => void): () => void;
    /** A monotonic time in milliseconds. */
    now(): number;
    /** Whether nothing is to move for now. */
    isPaused(): boolean;
  };
}

export interface AnimatedFlow {
  line: SVGElement;
  /** Pixels per second. */
  speed: number;
}

const stepMs = 100;

export function createFlowMotion(clock: FlowMotion['clock'], dash: string) {
  const period = dash.split(' ').reduce((sum, part) => sum + Number(part), 0);
  let flows: { line: SVGElement; speed: number }[] = [];
  let stopTimer: (() => void) | null = null;
  const offsets = new WeakMap<SVGElement, number>();
  let last = clock.now();

  const step = () => {
    const now = clock.now();
    const elapsed = Math.min(1_000, now - last) / 1000;
    last = now;
    if (clock.isPaused()) return;
    for (const { line, speed } of flows) {
      const offset = ((offsets.get(line) ?? 0) + speed * elapsed) % period;
      offsets.set(line, offset);
      line.setAttribute('stroke-dashoffset', (-offset).toFixed(1));
    }
  };

  return {
    /** Replaces the animated flows. The timer runs only while one of them has a speed. */
    animate(next: readonly AnimatedFlow[]): void {
      flows = next.filter((flow) => flow.speed > 0);
      if (flows.length > 0 && stopTimer === null) {
        last = clock.now();
        stopTimer = clock.every(stepMs, step);
      } else if (flows.length === 0) this.stop();
    },
    stop(): void {
      stopTimer?.();
      stopTimer = null;
    },
  };
}
