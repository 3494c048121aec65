import { type RefObject, useLayoutEffect, useRef, useState } from 'react';
import type { Chart } from '../charts/chart.ts';

/**
 * Hosts a chart module: makes it on mount, hands it each new data, destroys it on unmount. `create` must keep its
 * identity, or the chart is made anew; `data` must keep its identity while it is the same, or it is drawn again.
 */
export function useChart<Data, Kind extends Chart<Data>>(
  create: (element: SVGSVGElement) => Kind,
  data: Data,
): { element: RefObject<SVGSVGElement | null>; chart: RefObject<Kind | null> } {
  const element = useRef<SVGSVGElement>(null);
  const chart = useRef<Kind | null>(null);
  const latest = useRef(data);
  latest.current = data;
  useLayoutEffect(() => {
    const made = create(element.current!);
    chart.current = made;
    made.update(latest.current);
    return () => {
      made.destroy();
      chart.current = null;
    };
  }, [create]);
  useLayoutEffect(() => chart.current?.update(data), [data]);
  return { element, chart };
}

/** Width of an element in CSS pixels, 0 before the first measurement. */
export function useWidth(): { box: RefObject<HTMLDivElement | null>; width: number } {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const observed = box.current;
    if (observed === null) return;
    setWidth(observed.clientWidth);
    const observer = new ResizeObserver(() => setWidth(observed.clientWidth));
    observer.observe(observed);
    return () => observer.disconnect();
  }, []);
  return { box, width };
}
