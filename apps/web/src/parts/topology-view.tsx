import type { Tick } from '@shardlab/contract';
import { useCallback, useMemo } from 'react';
import { serverContact } from '../api/server-contact.ts';
import { createTopologyChart } from '../charts/topology-chart.ts';
import { layoutTopology, type TopologyOptions } from '../model/topology-layout.ts';
import { useChart, useWidth } from './use-chart.ts';
import { useReducedMotion } from './use-reduced-motion.ts';

const browserClock = {
  every(ms: number, tick: () => void) {
    const timer = setInterval(tick, ms);
    return () => clearInterval(timer);
  },
  now: () => performance.now(),
  isPaused: () => document.hidden || serverContact.lostSinceMs() !== null,
};

export interface TopologyViewProps {
  tick: Tick;
  /** All ticks of the run, so that flows at different times are drawn to the same scale. */
  ticks: readonly Tick[];
  cores: number;
  backlogMax: number;
}

/** Draws the topology of a tick into an SVG element that fills the width of its box. */
export function useTopology({ tick, ticks, cores, backlogMax }: TopologyViewProps) {
  const { box, width: measured } = useWidth();
  const width = Math.max(measured, 240);
  const reducedMotion = useReducedMotion();
  const rateMax = useMemo(() => maxInstanceRate(ticks), [ticks]);
  const create = useCallback(
    (svg: SVGSVGElement) => createTopologyChart(svg, reducedMotion ? {} : { motion: browserClock }),
    [reducedMotion],
  );
  const layout = useMemo(
    () => layoutTopology(tick, { width, cores, rateMax, backlogMax }),
    [tick, width, cores, rateMax, backlogMax],
  );
  const minHeight = useMemo(
    () => maxHeight(ticks, { width, cores, rateMax, backlogMax }),
    [ticks, width, cores, rateMax, backlogMax],
  );
  const { element } = useChart(create, layout);
  return { box, element, minHeight };
}

/** Height of the tallest topology of the run, so that the page does not jump when a smaller trial starts. */
function maxHeight(ticks: readonly Tick[], options: TopologyOptions): number {
  const sizes = new Map(ticks.map((tick) => [`${tick.system}/${tick.instances.length}`, tick]));
  return Math.max(0, ...[...sizes.values()].map((tick) => layoutTopology(tick, options).height));
}

function maxInstanceRate(ticks: readonly Tick[]): number {
  let rateMax = 1;
  for (const tick of ticks)
    for (const { enqueuePerSec, dequeuePerSec } of tick.instances)
      rateMax = Math.max(rateMax, enqueuePerSec, dequeuePerSec);
  return rateMax;
}
