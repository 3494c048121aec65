/** An instance in a process of its own that streams payloads. `stream-process.ts` makes its calls. */
import { type Instance, openInstance } from '../../src/index.ts';
import { bytesOf, digest } from './payloads.ts';

export type StreamCall =
  | { do: 'open'; dir: string }
  /** With `hangAfter` the source hangs after that many bytes, and the call is answered at that moment. */
  | { do: 'upload'; seed: number; bytes: number; hangAfter?: number }
  | { do: 'checkpoint' }
  | { do: 'commit' }
  | { do: 'take' };

let instance: Instance;

async function obey(call: StreamCall, answer: (value: unknown) => void): Promise<void> {
  if (call.do === 'open') {
    instance = await openInstance({ dir: call.dir });
    if (instance.queues().length === 0) await instance.createQueue({ name: 'files' });
    return answer(null);
  }
  if (call.do === 'checkpoint') return answer(await instance.checkpoint());
  const session = sessions.enqueuer ?? instance.openSession();
  sessions.enqueuer = session;
  if (call.do === 'upload') {
    const { seed, bytes, hangAfter } = call;
    const source = async function* () {
      let bytesSoFar = 0;
      for await (const piece of bytesOf(seed, bytes)) {
        if (hangAfter !== undefined && bytesSoFar >= hangAfter) {
          answer(null);
          await new Promise(() => undefined);
        }
        bytesSoFar += piece.length;
        collectGarbage(bytesSoFar);
        yield piece;
      }
    };
    await session.enqueueStream('files', { payload: source(), correlationId: String(seed) });
    return answer(peakRss());
  }
  if (call.do === 'commit') return answer(await session.commit());
  const [message] = await session.dequeue('files', { waitMs: 10_000 });
  let bytesSoFar = 0;
  const collecting = async function* () {
    for await (const piece of message!.payloadStream()) {
      bytesSoFar += piece.length;
      collectGarbage(bytesSoFar);
      yield piece;
    }
  };
  const read = { ...(await digest(collecting())), peakRss: peakRss() };
  await session.commit();
  answer(read);
}

const sessions: { enqueuer?: ReturnType<Instance['openSession']> } = {};

/** Without this the runtime would keep some 60 MiB of unused buffers, which must not count as used memory. */
function collectGarbage(bytesSoFar: number): void {
  if (bytesSoFar % (1024 * 1024) === 0) globalThis.gc!();
}

/** The maximum resident memory of the process so far, bytes. */
const peakRss = () => process.resourceUsage().maxRSS * 1024;

process.on('message', (call: StreamCall) => {
  void obey(call, (value) => process.send!({ value }));
});
