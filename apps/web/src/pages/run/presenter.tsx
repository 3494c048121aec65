import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { type Frame, stepFrame } from '../../model/filmstrip.ts';
import { presenterZoom } from '../../model/presenter-zoom.ts';
import { type KeyBinding, useKeys } from '../../parts/keys.tsx';
import type { TimeCursor } from '../../parts/time-cursor.ts';

/** A full-screen view for an audience: the claim, the chart, the sessions and why they wait, in large type. */
export function Presenter(props: {
  title: string;
  frames: readonly Frame[];
  cursor: TimeCursor;
  onLeave(): void;
  children: ReactNode;
}) {
  const { title, frames, cursor, onLeave, children } = props;
  const element = useRef<HTMLDivElement>(null);
  const zoom = usePresenterZoom();
  useFullScreen(onLeave);
  useEffect(() => element.current?.focus(), []);
  const keys = useMemo((): KeyBinding[] => {
    const step = (by: number) => () => cursor.set(stepFrame(frames, cursor.get(), by));
    return [
      { keys: ['ArrowRight', 'PageDown', ' '], label: 'Next trial', onKey: step(1) },
      { keys: ['ArrowLeft', 'PageUp'], label: 'Previous trial', onKey: step(-1) },
      { keys: ['Home'], label: 'First trial', onKey: step(Number.NEGATIVE_INFINITY) },
      { keys: ['End'], label: 'Last trial', onKey: step(Number.POSITIVE_INFINITY) },
      { keys: ['Escape', 'p'], label: 'Leave the presentation', onKey: onLeave },
    ];
  }, [frames, cursor, onLeave]);
  useKeys(keys);
  return (
    <div ref={element} className="presenter board" style={{ zoom }} tabIndex={-1}>
      <h1>{title}</h1>
      <h2 className="visually-hidden">Result</h2>
      {children}
      <button type="button" className="button button-quiet presenter-leave" onClick={onLeave}>
        Leave
      </button>
    </div>
  );
}

function usePresenterZoom(): number {
  const measured = () => presenterZoom(window.innerWidth, window.innerHeight);
  const [zoom, setZoom] = useState(measured);
  useEffect(() => {
    const onResize = () => setZoom(presenterZoom(window.innerWidth, window.innerHeight));
    window.addEventListener('resize', onResize);
    return () => window.removeEventListener('resize', onResize);
  }, []);
  return zoom;
}

/** If the browser refuses full screen, the view still fills the window. Leaving full screen also closes the view. */
function useFullScreen(onLeave: () => void): void {
  const leave = useRef(onLeave);
  leave.current = onLeave;
  useEffect(() => {
    const onChange = () => {
      if (document.fullscreenElement === null) leave.current();
    };
    document.addEventListener('fullscreenchange', onChange);
    if (document.fullscreenElement === null)
      document.documentElement.requestFullscreen?.().catch(() => undefined);
    return () => {
      document.removeEventListener('fullscreenchange', onChange);
      if (document.fullscreenElement !== null) void document.exitFullscreen();
    };
  }, []);
}
