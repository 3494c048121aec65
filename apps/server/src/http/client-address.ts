/** Identifies the client of a connection by the address of its socket, for limits that clients share. */
import { isIPv6 } from 'node:net';

/**
 * IPv4 addresses as they are, IPv6 addresses by their first 64 bits, since one client has all addresses of such a network.
 * Clients of this machine, and those behind one proxy, are one party.
 */
export function clientOf({ remoteAddress }: { remoteAddress?: string | undefined }): string {
  if (remoteAddress === undefined) return 'closed';
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(remoteAddress);
  if (mapped) return mapped[1]!;
  if (!isIPv6(remoteAddress)) return remoteAddress;
  const [head = '', tail] = remoteAddress.split('%')[0]!.split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array<string>(8 - first.length - last.length).fill('0');
  return [...first, ...zeros, ...last].slice(0, 4).join(':');
}
