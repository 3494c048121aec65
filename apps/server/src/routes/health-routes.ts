import { Health, HealthStatus, Liveness } from '@shardlab/contract';
import Type from 'typebox';
import type { ClusterService } from '../cluster/cluster-service.ts';
import type { App } from '../http/app-types.ts';
import { errorReference } from '../http/refusals.ts';

const tags = ['server'];

type Reason = NonNullable<Health['reasons']>[number];

export interface HealthRoutesOptions {
  cluster: ClusterService;
  version: string;
  /** Why the server is not ready, whatever its instances are; empty if there is nothing. */
  reasons(): Promise<Reason[]>;
}

/**
 * Readiness from a commit on every instance, and liveness: the server answers. What becomes wrong is logged once. Without the key,
 * probes get the status alone.
 */
export function healthRoutes(app: App, { cluster, version, reasons }: HealthRoutesOptions): void {
  const uptimeMs = () => Math.round(process.uptime() * 1000);
  const answer = Type.Union([Health, HealthStatus]);
  const response = { 200: answer, 503: Type.Union([Health, HealthStatus, Type.Ref(errorReference.$ref)]) };

  let logged = new Set<string>();

  /** The messages of a failure differ from time to time, as the bytes that a disk has left do. */
  function logNew(found: readonly (Reason & { of: string })[]): void {
    for (const { code, message, of } of found)
      if (!logged.has(`${of} ${code}`)) app.log.error(`${of} is not ready: ${message} (${code})`);
    logged = new Set(found.map(({ code, of }) => `${of} ${code}`));
  }

  async function readHealth(): Promise<Health> {
    const [probes, damage, ofServer] = await Promise.all([cluster.probe(), cluster.damage(), reasons()]);
    const failures = probes.flatMap(({ failure }) => failure ?? []);
    logNew([
      ...ofServer.map((reason) => ({ ...reason, of: 'the server' })),
      ...probes.flatMap(({ instance, failure }) =>
        failure === null ? [] : { ...failure, of: `instance ${instance}` },
      ),
    ]);
    // Other failures refuse calls. This one takes them, also for what is lost: no client must come here.
    const unready = [...ofServer, ...failures.filter(({ code }) => code === 'STORAGE_REPLACED')];
    const instances = probes.map(({ instance, failure }) => ({
      instance,
      state: failure === null ? ('serving' as const) : ('failed' as const),
      reason: failure,
      damage: damage.get(instance) ?? [],
    }));
    const serving = instances.filter(({ state }) => state === 'serving').length;
    const isDegraded = serving < instances.length || instances.some((each) => each.damage.length > 0);
    const some = isDegraded ? 'degraded' : 'ok';
    return {
      status: serving === 0 || unready.length > 0 ? 'failed' : some,
      version,
      uptimeMs: uptimeMs(),
      ...(unready.length > 0 ? { reasons: unready } : {}),
      instances,
    };
  }

  for (const { url, summary } of [
    { url: '/api/health', summary: 'Health of the server and its instances, from a commit on each' },
    {
      url: '/api/health/ready',
      summary: 'Readiness: the same answer, 503 if no instance can commit or a file of the server is gone',
    },
  ]) {
    app.get(url, { schema: { summary, tags, response } }, async ({ isAdmitted }, reply) => {
      const health = await readHealth();
      reply.code(health.status === 'failed' ? 503 : 200);
      return reply.send(isAdmitted ? health : { status: health.status });
    });
  }

  app.get(
    '/api/health/live',
    { schema: { summary: 'Liveness: the server answers', tags, response: { 200: Liveness } } },
    async ({ isAdmitted }) => ({
      status: 'ok' as const,
      ...(isAdmitted && { version, uptimeMs: uptimeMs() }),
    }),
  );
}
