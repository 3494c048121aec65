/** How long the load of a killed trial runs. */
import type { Phases } from '@shardlab/contract';

/** No longer, whatever the warm-up and the window: what matters is that it runs at the kill. */
const loadMsMax = 1_500;

export const killedLoadMsOf = ({ warmupMs, measureMs }: Phases): number =>
  Math.min(loadMsMax, warmupMs + measureMs);
