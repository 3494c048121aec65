import { Link } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

const pages = [
  { to: '/', label: 'Lab', exact: true },
  { to: '/documents', label: 'Documents', exact: false },
  { to: '/learn', label: 'Learn', exact: false },
  { to: '/runs', label: 'Runs', exact: false },
  { to: '/what-if', label: 'What if', exact: false },
  { to: '/queues', label: 'Queues', exact: false },
  { to: '/cluster', label: 'Cluster', exact: false },
] as const;

/** The list of pages. On a phone it scrolls sideways: the one that is open is in view, and an edge that cuts the list is faded. */
export function PageNav({ pathname }: { pathname: string }) {
  const list = useRef<HTMLElement>(null);
  const open = openPage(pathname);
  useEffect(() => {
    const nav = list.current;
    if (nav === null) return;
    const onScroll = () => markCutEdges(nav);
    const onSize = () => {
      center(nav, nav.querySelector(`[href="${open}"]`));
      markCutEdges(nav);
    };
    const sizes = new ResizeObserver(onSize);
    sizes.observe(nav);
    nav.addEventListener('scroll', onScroll, { passive: true });
    return () => {
      sizes.disconnect();
      nav.removeEventListener('scroll', onScroll);
    };
  }, [open]);
  return (
    <nav ref={list} className="nav" aria-label="Pages">
      {pages.map(({ to, label, exact }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact, includeSearch: false }}
          {...(to === open ? { 'aria-current': 'page' as const } : {})}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}

/** Runs are compared on a page of their own, which belongs to the runs. */
function openPage(pathname: string): string | undefined {
  if (pathname === '/compare') return '/runs';
  return pages.findLast(({ to, exact }) => (exact ? pathname === to : pathname.startsWith(to)))?.to;
}

function center(nav: HTMLElement, link: HTMLElement | null): void {
  if (link === null) return;
  const { left, width } = link.getBoundingClientRect();
  nav.scrollLeft += left + width / 2 - (nav.getBoundingClientRect().left + nav.clientWidth / 2);
}

function markCutEdges(nav: HTMLElement): void {
  nav.toggleAttribute('data-cut-start', nav.scrollLeft > 1);
  nav.toggleAttribute('data-cut-end', nav.scrollLeft + nav.clientWidth < nav.scrollWidth - 1);
}
