import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { KeysProvider } from './keys.tsx';
import { LogoutButton } from './logout-button.tsx';
import { PageNav } from './page-nav.tsx';
import { RunPill } from './run-pill.tsx';
import { ServerLost } from './server-lost.tsx';
import { ThemeSwitch } from './theme-switch.tsx';

/** The frame of every page: header, content, footer. Before the login no other page can be opened, so none is offered. */
export function AppShell() {
  const pathname = useLocation({ select: (location) => location.pathname });
  const isLogin = pathname === '/login';
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
          {isLogin ? null : <PageNav pathname={pathname} />}
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
