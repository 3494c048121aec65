import type { ReactNode } from 'react';

/**
 * Scrolls its content sideways if it is wider than the page. Reachable by keyboard, so that it can be scrolled there
 * too.
 */
export function ScrollX(props: { label: string; framed?: boolean; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={props.framed ? 'panel scroll-x' : 'scroll-x'} aria-label={props.label} tabIndex={0}>
      {props.children}
    </section>
  );
}
