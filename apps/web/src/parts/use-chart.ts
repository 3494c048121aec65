import { type RefObject, useCallback, useLayoutEffect, useRef, useState } from 'react';
import type { Chart } from '../charts/chart.ts';
import type { PointerEvents } from '../charts/follow-pointer.ts';

/**
 * Hosts a chart module: creates the chart on mount, updates it with new data, destroys it on unmount. `create` and
 * `data` must be memoized: a new `create` recreates the chart, a new `data` redraws it.
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
    const created = create(element.current!);
    chart.current = created;
    created.update(latest.current);
    return () => {
      created.destroy();
      chart.current = null;
    };
  }, [create]);
  useLayoutEffect(() => chart.current?.update(data), [data]);
  return { element, chart };
}

/** As `useChart`, for a chart that follows the pointer. `createChart` must be memoized; `events` may be new each time. */
export function usePointerChart<Data, Kind extends Chart<Data>>(
  createChart: (element: SVGSVGElement, events: PointerEvents) => Kind,
  events: PointerEvents,
  data: Data,
): { element: RefObject<SVGSVGElement | null>; chart: RefObject<Kind | null> } {
  const latest = useRef(events);
  latest.current = events;
  const create = useCallback(
    (element: SVGSVGElement) =>
      createChart(element, {
        onCursor: (key) => latest.current.onCursor(key),
        onSelect: (key) => latest.current.onSelect(key),
      }),
    [createChart],
  );
  return useChart(create, data);
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
