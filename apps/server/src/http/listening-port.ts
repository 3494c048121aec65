import type { App } from './app-types.ts';

/** The port that the app listens on, or null while it does not. */
export function listeningPort(app: App): number | null {
  const address = app.server.address();
  return typeof address === 'object' && address !== null ? address.port : null;
}
