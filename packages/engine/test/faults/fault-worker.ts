/** An instance in a process of its own, so that faults of the process or its disk are real. `fault-process.ts` makes its calls. */
import { rmSync, writeFileSync } from 'node:fs';
import {
  checkFolder,
  type Instance,
  openInstance,
  QueueError,
  type ServedInstance,
  serveInstance,
} from '../../src/index.ts';
import type { FaultAnswer, FaultCall } from './fault-process.ts';

let instance: Instance | undefined;
let served: ServedInstance | undefined;

async function obey(call: FaultCall): Promise<unknown> {
  if (call.do === 'open') {
    instance = await openInstance(call.options);
    return null;
  }
  if (call.do === 'serve') {
    served = await serveInstance(instance!, call.options);
    return null;
  }
  const session = call.do === 'put' || call.do === 'take' ? instance!.openSession() : undefined;
  try {
    switch (call.do) {
      case 'create':
        return await instance!.createQueue(call.spec);
      case 'put':
        for (const payload of call.payloads) session!.enqueue(call.queue, { payload });
        return (await session!.commit()).ids;
      case 'take': {
        const messages = await session!.dequeue(call.queue, { max: call.max, waitMs: call.waitMs ?? 0 });
        const payloads = messages.map((message) => message.payload.toString());
        await session!.commit();
        return payloads;
      }
      case 'info':
        return instance!.queue(call.queue);
      case 'list':
        return instance!
          .queues()
          .map(({ name, ready, fault }) => `${name}: ${fault?.code ?? `${ready} ready`}`)
          .toSorted();
      case 'write':
        writeFileSync(call.path, Buffer.alloc(call.bytes));
        return null;
      case 'remove':
        rmSync(call.path);
        return null;
      case 'check':
        return checkFolder(call.dir).faults;
      case 'close':
        await served?.close();
        await instance!.close();
        return null;
    }
  } finally {
    await session?.close().catch(() => undefined);
  }
}

process.on('message', (call: FaultCall) => {
  const answer = (content: FaultAnswer) => process.send!(content);
  obey(call).then(
    (value) => answer({ value }),
    (error: unknown) => {
      if (!(error instanceof QueueError)) throw error;
      const { code, message, retryable, details } = error;
      answer({ error: { code, message, retryable, details: JSON.parse(JSON.stringify(details)) } });
    },
  );
});
