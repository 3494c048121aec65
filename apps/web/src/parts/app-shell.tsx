import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { KeysProvider } from './keys.tsx';
import { LogoutButton } from './logout-button.tsx';
import { RunPill } from './run-pill.tsx';
import { ServerLost } from './server-lost.tsx';
import { ThemeSwitch } from './theme-switch.tsx';

const pages = [
  { to: '/', label: 'Lab', exact: true },
  { to: '/documents', label: 'Documents', exact: false },
  { to: '/learn', label: 'Learn', exact: false },
  { to: '/runs', label: 'Runs', exact: false },
  { to: '/what-if', label: 'What if', exact: false },
  { to: '/queues', label: 'Queues', exact: false },
  { to: '/cluster', label: 'Cluster', exact: false },
] as const;

/** The frame of every page: header, content, footer. Before the login no other page can be opened, so none is offered. */
export function AppShell() {
  const pathname = useLocation({ select: (location) => location.pathname });
  const isLogin = pathname === '/login';
  const nav = useRef<HTMLElement>(null);
  useEffect(() => centerChosen(nav.current, pathname), [pathname]);
  return (
    <KeysProvider>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="header">
        <div className="header-row">
          <Link to="/" className="wordmark">
            <Logo />
            Shardlab
          </Link>
          {isLogin ? null : (
            <nav ref={nav} className="nav" aria-label="Pages">
              {pages.map(({ to, label, exact }) => (
                <Link key={to} to={to} activeOptions={{ exact, includeSearch: false }}>
                  {label}
                </Link>
              ))}
            </nav>
          )}
          <div className="header-tools">
            {isLogin ? null : <RunPill />}
            {isLogin ? null : <Link to="/docs">API</Link>}
            <ThemeSwitch />
            {isLogin ? null : <LogoutButton />}
          </div>
        </div>
      </header>
      <ServerLost />
      <main className="main" id="main" tabIndex={-1}>
        <Outlet />
      </main>
      <footer className="footer">
        <p>A performance lab for message queues, which measures the machine it runs on.</p>
        {isLogin ? null : (
          <p>
            <Link to="/docs">API reference</Link>
          </p>
        )}
      </footer>
    </KeysProvider>
  );
}

/** On a phone the list of pages scrolls sideways: the one that is open is in view. */
function centerChosen(nav: HTMLElement | null, pathname: string): void {
  const chosen = pages.findLast(({ to, exact }) => (exact ? pathname === to : pathname.startsWith(to)));
  const link = nav?.querySelector<HTMLElement>(`[href="${chosen?.to}"]`);
  if (!nav || !link) return;
  const { left, width } = link.getBoundingClientRect();
  nav.scrollLeft += left + width / 2 - (nav.getBoundingClientRect().left + nav.clientWidth / 2);
}

/** Three shards with consumed and waiting messages. */
function Logo() {
  return (
    <svg width="22" height="22" viewBox="0 0 22 22" aria-hidden="true">
      <g strokeWidth="3" strokeLinecap="round" fill="none">
        <path d="M3 5h16M3 11h9M3 17h4" stroke="var(--sharded)" />
        <path d="M17 11h2M12 17h7" stroke="var(--unsharded)" />
      </g>
    </svg>
  );
}
