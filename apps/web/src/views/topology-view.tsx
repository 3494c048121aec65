import type { Tick } from '@shardlab/contract';
import { useCallback, useMemo } from 'react';
import { createTopologyChart } from '../charts/topology-chart.ts';
import { plural } from '../model/format.ts';
import { layoutTopology, type TopologyOptions } from '../model/topology-layout.ts';
import { useChart, useWidth } from './use-chart.ts';
import { useReducedMotion } from './use-reduced-motion.ts';

const browserClock = {
  every(ms: number, tick: () => void) {
    const timer = setInterval(tick, ms);
    return () => clearInterval(timer);
  },
  now: () => performance.now(),
  isHidden: () => document.hidden,
};

export interface TopologyViewProps {
  tick: Tick;
  /** All ticks: flows of different moments are drawn to one scale. */
  ticks: readonly Tick[];
  cores: number;
  backlogMax: number;
}

/** Draws the topology into an SVG element as wide as its box. */
export function useTopology({ tick, ticks, cores, backlogMax }: TopologyViewProps) {
  const { box, width: measured } = useWidth();
  const width = Math.max(measured, 240);
  const still = useReducedMotion();
  const rateMax = useMemo(() => fastestInstance(ticks), [ticks]);
  const create = useCallback(
    (svg: SVGSVGElement) => createTopologyChart(svg, still ? {} : { motion: browserClock }),
    [still],
  );
  const layout = useMemo(
    () => layoutTopology(tick, { width, cores, rateMax, backlogMax }),
    [tick, width, cores, rateMax, backlogMax],
  );
  const minHeight = useMemo(
    () => tallest(ticks, { width, cores, rateMax, backlogMax }),
    [ticks, width, cores, rateMax, backlogMax],
  );
  const { element } = useChart(create, layout);
  return { box, element, minHeight };
}

/** The topology at one moment, without a frame. */
export function TopologyView(props: TopologyViewProps) {
  const { box, element, minHeight } = useTopology(props);
  return (
    <div ref={box} style={{ minHeight }}>
      <svg
        ref={element}
        role="img"
        aria-label={`Topology: ${plural(props.tick.instances.length, 'instance')}`}
      />
    </div>
  );
}

/** Room for the tallest topology of the run: the page must not jump when a trial with fewer instances begins. */
function tallest(ticks: readonly Tick[], options: TopologyOptions): number {
  const kinds = new Map(ticks.map((tick) => [`${tick.implementation}/${tick.instances.length}`, tick]));
  return Math.max(0, ...[...kinds.values()].map((tick) => layoutTopology(tick, options).height));
}

function fastestInstance(ticks: readonly Tick[]): number {
  let most = 1;
  for (const tick of ticks)
    for (const { enqueuePerSec, dequeuePerSec } of tick.instances)
      most = Math.max(most, enqueuePerSec, dequeuePerSec);
  return most;
}
