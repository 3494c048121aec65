import type { App } from './app-types.ts';

/** The port on which the app listens, or null if it does not listen. */
export function listeningPort(app: App): number | null {
  const address = app.server.address();
  return typeof address === 'object' && address !== null ? address.port : null;
}
