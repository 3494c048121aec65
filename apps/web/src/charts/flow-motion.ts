/**
 * Moves the dashes of flows. Ten steps a second and not sixty: the page is often watched on the machine that is being
 * measured, and a smoother line is not worth a share of its cores. Nothing runs while the page is hidden.
 */
export interface FlowMotion {
  clock: {
    /** Calls back until the function that it returns is called. */
    every(ms: number, tick: () => void): () => void;
    /** Milliseconds that only grow. */
    now(): number;
    isHidden(): boolean;
  };
}

export interface WatchedFlow {
  line: SVGElement;
  /** Pixels a second. */
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
    if (clock.isHidden()) return;
    for (const { line, speed } of flows) {
      const offset = ((offsets.get(line) ?? 0) + speed * elapsed) % period;
      offsets.set(line, offset);
      line.setAttribute('stroke-dashoffset', (-offset).toFixed(1));
    }
  };

  return {
    /** Replaces the flows that move; the timer runs only while one of them does. */
    watch(next: readonly WatchedFlow[]): void {
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
