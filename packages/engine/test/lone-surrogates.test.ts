/** Strings that UTF-8 cannot encode are refused with a typed error, since storing them would turn them into other strings. */
import { describe, expect, it } from 'vitest';
import type { Instance, NewMessage, RemoteInstance } from '../src/index.ts';
import { openTestInstance } from './folder.ts';
import { code, connectTo, serve } from './remote/serving.ts';

const lone = 'a\ud800b';
const replaced = 'a\ufffdb';

describe('a lone surrogate', () => {
  it('in the name of a subscriber is refused, and leaves no subscriber of another name behind', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'news', type: 'topic' });
    for (const name of [lone, '\udc00', '', 'a\0b', '.', '..', 'x'.repeat(129), 7 as never]) {
      await expect(instance.subscribe('news', { name })).rejects.toEqual(code('OPTIONS_INVALID'));
    }
    expect(instance.subscribers('news')).toEqual([]);
    await instance.subscribe('news', { name: '\u{1f600}'.repeat(128) });
    expect(instance.subscribers('news')).toHaveLength(1);
  });

  it('never matches a name that has the replacement character in its place', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'news', type: 'topic' });
    await instance.subscribe('news', { name: replaced });
    const local = instance.openSession();
    local.enqueue('news', { payload: 'p', correlationId: replaced });
    await local.commit();
    await expect(instance.browse('news', { subscriber: replaced, correlationId: lone })).rejects.toEqual(
      code('OPTIONS_INVALID'),
    );
    const { path } = await serve(instance);
    const remote = (await connectTo(path)).openSession();
    for (const session of [local, remote]) {
      await expect(session.dequeue('news', { subscriber: lone })).rejects.toEqual(code('OPTIONS_INVALID'));
      expect(() => session.enqueue('news', { payload: 'p', recipients: [lone] })).toThrow(
        code('MESSAGE_INVALID'),
      );
    }
  });

  const fields: [string, NewMessage][] = [
    ['payload', { payload: lone }],
    ['correlation id', { payload: '', correlationId: lone }],
    ['group key', { payload: '', groupKey: lone }],
    ['name of a property', { payload: '', properties: { [lone]: '' } }],
    ['value of a property', { payload: '', properties: { a: lone } }],
  ];
  it.each(fields)(
    'in the %s of a message is refused, here and from another process',
    async (_what, message) => {
      const instance = await openTestInstance();
      await instance.createQueue({ name: 'q' });
      await instance.createQueue({ name: 'u', kind: 'unsharded' });
      const { path } = await serve(instance);
      const hosts: (Instance | RemoteInstance)[] = [instance, await connectTo(path)];
      for (const host of hosts) {
        for (const queue of ['q', 'u']) {
          expect(() => host.openSession().enqueue(queue, message)).toThrow(code('MESSAGE_INVALID'));
        }
        expect(() => host.openSession().execute(`SELECT '${lone}'`)).toThrow(code('SQL_INVALID'));
        expect(() => host.openSession().execute('SELECT ?', [lone])).toThrow(code('SQL_INVALID'));
        expect(() => host.openSession().execute('SELECT :a', { a: lone })).toThrow(code('SQL_INVALID'));
      }
    },
  );
});
