/** Answers what transaction managers ask of the instance about branches that have ended. */
import type { XaResource } from '../api/xa.ts';
import { resourceCallFromJson, xidToWire } from '../wire/xa-calls.ts';

/** Returns the result as JSON. Throws `PROTOCOL_INVALID`, and what the call throws. */
export async function answerResourceCall(resource: XaResource, json: string): Promise<string> {
  const call = resourceCallFromJson(json);
  if (call.call === 'recover') return JSON.stringify((await resource.recover()).map(xidToWire));
  const { xid } = call;
  if (call.call === 'forget') await resource.forget(xid);
  else {
    const { instance } = call;
    const place = instance === undefined ? {} : { instance };
    if (call.call === 'prepare') return JSON.stringify(await resource.prepare(xid, place));
    if (call.call === 'commit') await resource.commit(xid, { onePhase: call.onePhase === true, ...place });
    else await resource.rollback(xid, place);
  }
  return 'null';
}
