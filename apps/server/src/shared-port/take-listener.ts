import type { EventEmitter } from 'node:events';

/**
 * Removes the first listener of an event and returns it. For a server that is Node's or Fastify's own listener: the code that
 * takes it decides which connections or requests reach it.
 */
export function takeListener<Args extends unknown[]>(
  emitter: EventEmitter,
  event: string,
): (...args: Args) => void {
  const [listener] = emitter.listeners(event);
  if (listener === undefined) throw new Error(`Nobody listens to ${event}`);
  emitter.off(event, listener as () => void);
  return (...args) => void listener.apply(emitter, args);
}
