import type { ReactNode } from 'react';

/** A part that is wider than a phone and scrolls within itself; reachable by keyboard, so that it can be scrolled. */
export function ScrollX(props: { label: string; framed?: boolean; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={props.framed ? 'panel scroll-x' : 'scroll-x'} aria-label={props.label} tabIndex={0}>
      {props.children}
    </section>
  );
}
