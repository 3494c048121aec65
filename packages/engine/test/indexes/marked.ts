/** Messages with correlation ids, and a browse over all pages. */
import type { BrowsedMessage, Instance, NewMessage } from '../../src/index.ts';

export async function put(instance: Instance, queue: string, messages: NewMessage[]): Promise<void> {
  const session = instance.openSession();
  for (const message of messages) session.enqueue(queue, message);
  await session.commit();
  await session.close();
}

export async function take(instance: Instance, queue: string, max: number): Promise<number> {
  const session = instance.openSession();
  const { length } = await session.dequeue(queue, { max });
  await session.commit();
  await session.close();
  return length;
}

/** The messages of all pages of a browse. */
export async function all(
  instance: Instance,
  queue: string,
  options: NonNullable<Parameters<Instance['browse']>[1]> = {},
): Promise<BrowsedMessage[]> {
  const found: BrowsedMessage[] = [];
  for (let after: string | undefined; ; ) {
    const page = await instance.browse(queue, {
      limit: 3,
      ...options,
      ...(after !== undefined && { after }),
    });
    found.push(...page.messages);
    if (page.next === null) return found;
    after = page.next;
  }
}

/** Messages `m0`, `m1`, … with one of `ids` correlation ids by the remainder of their number; every fifth has none. */
export const marked = (from: number, to: number, ids: number): NewMessage[] =>
  Array.from({ length: to - from }, (_, index) => {
    const number = from + index;
    return { payload: `m${number}`, ...(number % 5 !== 0 && { correlationId: `id-${number % ids}` }) };
  });
