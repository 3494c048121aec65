import type { ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import type { FastifyReply } from 'fastify';

const waiting = new WeakMap<ServerResponse, (() => void)[]>();
const answered = new WeakSet<ServerResponse>();

/**
 * Calls `done` once the response is finished or its connection is lost. All that wait for a response share its listeners:
 * Node warns of more than ten. If it is finished already, `done` is called in the next tick.
 */
export function whenAnswered({ raw }: FastifyReply, done: () => void): void {
  if (answered.has(raw)) {
    process.nextTick(done);
    return;
  }
  const others = waiting.get(raw);
  if (others !== undefined) {
    others.push(done);
    return;
  }
  const all = [done];
  waiting.set(raw, all);
  finished(raw, () => {
    answered.add(raw);
    for (const each of all) each();
  });
}
