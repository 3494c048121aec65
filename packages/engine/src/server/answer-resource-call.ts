/** Answers what transaction managers ask of the instance about branches that have ended. */
import type { XaResource } from '../api/xa.ts';
import { resourceCallFromJson, xidToWire } from '../wire/xa-calls.ts';

/** Returns the result as JSON. Throws `PROTOCOL_INVALID`, and what the call throws. */
export async function answerResourceCall(resource: XaResource, json: string): Promise<string> {
  const call = resourceCallFromJson(json);
  if (call.call === 'recover') return JSON.stringify((await resource.recover()).map(xidToWire));
  if (call.call === 'commit') await resource.commit(call.xid, { onePhase: call.onePhase });
  else return JSON.stringify((await resource[call.call](call.xid)) ?? null);
  return 'null';
}
