import type { App } from '../http/app-types.ts';
import { unsupported, unsupportedRoutes } from '../http/unsupported.ts';

/** Routes of the designed API that the engine cannot serve yet: refused by name instead of as unknown. */
export function unsupportedApiRoutes(app: App): void {
  for (const [method, url] of unsupportedRoutes) {
    app.route({
      method,
      url,
      exposeHeadRoute: false,
      schema: { hide: true },
      handler: async () => {
        throw unsupported(`${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`);
      },
    });
  }
}
