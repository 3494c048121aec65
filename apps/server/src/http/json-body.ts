/** Reads JSON bodies: UTF-8 only, and only strings that can be stored as they are. */
import { isUtf8 } from 'node:buffer';
import { parseKeepingPayloads } from '@shardlab/contract';
import type { FastifyRequest } from 'fastify';
import { ServerError } from '../errors.ts';
import type { App } from './app-types.ts';

/**
 * Parses the JSON bodies of all routes of this scope. Payloads of messages stay text (`JsonText`). Objects are copied property
 * by property and looked up in maps, so a property named __proto__ is only data; closed schemas refuse it as unknown.
 */
export function readJsonBodies(app: App): void {
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async ({ headers }: FastifyRequest, body: Buffer) =>
      parseJson(decodeJsonBody(body, headers['content-type'])),
  );
}

function parseJson(text: string): unknown {
  if (text === '') throw invalidBody('The body is empty; JSON is required');
  try {
    return parseKeepingPayloads(text);
  } catch (error) {
    throw invalidBody('The body is not JSON', error);
  }
}

/** For routes whose body is optional. A body of `null` is refused, like any other that is not an object. */
export async function allowNoBody(request: FastifyRequest): Promise<void> {
  if (request.body === undefined) request.body = {};
}

/** Throws `CONTENT_TYPE_UNSUPPORTED` for another charset, `REQUEST_INVALID` for bytes that are no text. */
export function decodeJsonBody(body: Buffer, contentType = ''): string {
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType) ?? [];
  if (!/^utf-?8$/i.test(charset) || isUtf16(body)) throw new ServerError('CONTENT_TYPE_UNSUPPORTED');
  if (!isUtf8(body)) throw invalidBody('The body is not UTF-8');
  const text = body.toString('utf8');
  const at = findLoneSurrogate(text);
  if (at === undefined) return text;
  throw invalidBody(
    `The escape ${text.slice(at, at + 6)} at character ${at} is half of a surrogate pair, and no character by itself`,
  );
}

/** JSON begins with an ASCII character; in UTF-16 a byte of it is 0, or a byte order mark comes first. */
function isUtf16(body: Buffer): boolean {
  const [first, second] = body;
  return (
    second !== undefined &&
    (first === 0 ||
      second === 0 ||
      (first === 0xff && second === 0xfe) ||
      (first === 0xfe && second === 0xff))
  );
}

const surrogateEscape = /\\u[dD][89a-fA-F]/;

/**
 * Finds the position of an escaped surrogate without its other half in a JSON text. As UTF-8 it would become U+FFFD, so a name
 * would be stored as a different one. Only escapes can be lone surrogates, because the bytes of a surrogate are not valid UTF-8.
 * Linear in the text.
 */
export function findLoneSurrogate(text: string): number | undefined {
  if (!surrogateEscape.test(text)) return undefined;
  let high: number | undefined;
  for (let at = text.indexOf('\\'); at !== -1; at = text.indexOf('\\', at)) {
    const code = text[at + 1] === 'u' ? Number.parseInt(text.slice(at + 2, at + 6), 16) : 0;
    const isLow = code >= 0xdc00 && code <= 0xdfff;
    if (high !== undefined && !(isLow && at === high + 6)) return high;
    if (high === undefined && isLow) return at;
    high = code >= 0xd800 && code <= 0xdbff ? at : undefined;
    at += text[at + 1] === 'u' ? 6 : 2;
  }
  return high;
}

function invalidBody(message: string, cause?: unknown): ServerError {
  return new ServerError('REQUEST_INVALID', {
    message,
    details: { errors: [{ path: '', message }] },
    cause,
  });
}
