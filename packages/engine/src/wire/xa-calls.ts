/** Calls about branches of distributed transactions. They travel as JSON, with the parts of an xid in hexadecimal. */
import type { XaBranchPlace, XaCommitOptions, XaEnd, XaStartOptions, Xid } from '../api/xa.ts';
import type { PassedOnCall } from '../model/passed-on-call.ts';
import { parseBoundedJson } from './bounded-json.ts';
import { protocolError } from './protocol.ts';

/** A call of a session. With `flush` and `end` the client's staged operations of the branch follow. */
export type BranchCall =
  | { call: 'start'; xid: Xid; options: XaStartOptions }
  | { call: 'flush'; xid: Xid }
  | { call: 'end'; xid: Xid; how: XaEnd };

/** A call to the instance as a resource manager. */
export type ResourceCall =
  | ({ call: 'prepare' | 'rollback'; xid: Xid } & XaBranchPlace)
  | ({ call: 'commit'; xid: Xid } & XaCommitOptions)
  | { call: 'forget'; xid: Xid }
  | { call: 'recover' };

interface WireXid {
  formatId: number;
  gtrid: string;
  bqual: string;
}

export function xidToWire({ formatId, gtrid, bqual }: Xid): WireXid {
  return { formatId, gtrid: Buffer.from(gtrid).toString('hex'), bqual: Buffer.from(bqual).toString('hex') };
}

/** The instance checks its parts. */
export function xidFromWire({ formatId, gtrid, bqual }: WireXid): Xid {
  return {
    formatId,
    gtrid: Uint8Array.from(Buffer.from(gtrid, 'hex')),
    bqual: Uint8Array.from(Buffer.from(bqual, 'hex')),
  };
}

export function xaCallToJson(call: BranchCall | ResourceCall): string {
  return JSON.stringify('xid' in call ? { ...call, xid: xidToWire(call.xid) } : call);
}

/** Throws `PROTOCOL_INVALID`. */
export function branchCallFromJson(json: string): BranchCall {
  const { xid, ...call } = parse(json) as BranchCall & { xid: Xid };
  if (call.call === 'start') {
    const { flag } = call.options;
    if (flag === undefined || flag === 'join' || flag === 'resume')
      return { call: 'start', xid, options: startOptions(call.options) };
  } else if (call.call === 'flush') return { call: 'flush', xid };
  else if (call.call === 'end' && ['success', 'fail', 'suspend'].includes(call.how)) return { ...call, xid };
  throw invalid();
}

/** Copies the known options; the instance checks their values. */
function startOptions(given: XaStartOptions): XaStartOptions {
  const { flag, timeoutMs, coupling, home, lockWaitMs, lock } = given;
  const options = { flag, timeoutMs, coupling, home, lockWaitMs, lock };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

const resourceCalls: readonly string[] = ['prepare', 'commit', 'rollback', 'forget', 'recover'];

/** Throws `PROTOCOL_INVALID`. */
export function resourceCallFromJson(json: string): ResourceCall {
  const call = parse(json) as ResourceCall;
  if (!resourceCalls.includes(call.call)) throw invalid();
  return call;
}

/** A call that one instance passes on to another, as it travels inside a call between instances. */
export type WirePassedOnCall = Omit<PassedOnCall, 'xid'> & { xid: WireXid };

export const passedOnToWire = (call: PassedOnCall): WirePassedOnCall => ({
  ...call,
  xid: xidToWire(call.xid),
});
export const passedOnFromWire = (call: WirePassedOnCall): PassedOnCall => ({
  ...call,
  xid: xidFromWire(call.xid),
});

function parse(json: string): unknown {
  try {
    const { xid, ...call } = parseBoundedJson<{ xid?: WireXid; call: string }>(json, 'A call about a branch');
    if (xid === undefined && call.call === 'recover') return call;
    if (typeof xid?.gtrid === 'string' && typeof xid.bqual === 'string')
      return { ...call, xid: xidFromWire(xid) };
  } catch {
    // below
  }
  throw invalid();
}

function invalid() {
  return protocolError('A call about a branch is invalid');
}
