/** The OpenAPI description, generated from the schemas that validate requests. The dashboard's page `/docs` shows it. */
import swagger from '@fastify/swagger';
import type { App } from '../http/app-types.ts';
import { allowNoBody } from '../http/json-body.ts';

const tags = [
  { name: 'queues', description: 'Queues of the cluster that this server hosts' },
  { name: 'subscribers', description: 'The subscribers of a topic' },
  { name: 'messages', description: 'Enqueue, dequeue, acknowledge, browse' },
  { name: 'transactions', description: 'Messages and application rows, all or nothing' },
  { name: 'scenarios', description: 'Experiments as data' },
  { name: 'runs', description: 'Active and finished experiments, and their verdicts about the claims' },
  {
    name: 'model',
    description: 'The machines that the model can simulate, and the measurements that it is compared with',
  },
  { name: 'cluster', description: 'Instances, shards, waits' },
  { name: 'services', description: 'Singleton services of the cluster: which instance runs each' },
  { name: 'server', description: 'Health and metrics' },
];

/** Must be registered before the routes, because it collects them as they are added. */
export async function openApi(app: App, { version }: { version: string }): Promise<void> {
  const withoutBody = new Set<string>();
  app.addHook('onRoute', ({ method, url, preValidation }) => {
    if ([preValidation].flat().some((hook) => hook === allowNoBody))
      withoutBody.add(operationOf(method, url));
  });
  await app.register(swagger, {
    refResolver: { buildLocalReference: ({ $id }, _base, _fragment, index) => String($id ?? `def-${index}`) },
    transformObject: (document) => {
      if (!('openapiObject' in document)) return document.swaggerObject;
      const { openapiObject } = document;
      for (const [path, methods = {}] of Object.entries(openapiObject.paths ?? {})) {
        for (const [method, operation] of Object.entries(methods)) {
          const body = (operation as { requestBody?: { required?: boolean } }).requestBody;
          if (body !== undefined) body.required = !withoutBody.has(operationOf(method, path));
        }
      }
      return openapiObject;
    },
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Shardlab',
        version,
        description:
          'A performance lab for message queues, and the queue engine that it tests. Errors are `{code, message, details, retryable}`; docs/errors.md lists the codes.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      tags,
    },
  });
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
}

/** The same for a route and for its entry in the description. */
function operationOf(method: string | string[], url: string): string {
  return `${String(method).toUpperCase()} ${url.replaceAll(/:(\w+)/g, '{$1}')}`;
}
