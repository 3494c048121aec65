/**
 * Reads JSON bodies: UTF-8 only, only strings that can be stored as they are, and nothing beyond the limits: a body is scanned
 * (`scanJson`) against its route's schema before anything is built of it.
 */
import { isUtf8 } from 'node:buffer';
import { channel } from 'node:diagnostics_channel';
import {
  faultInWords,
  type JsonCounts,
  JsonRefused,
  type ParseOptions,
  parseKeepingPayloads,
  shapeOf,
  withoutByteOrderMark,
} from '@shardlab/contract';
import type { FastifyRequest } from 'fastify';
import { ServerError } from '../errors.ts';
import type { App } from './app-types.ts';

/** What was read of a body, and what is built of it: published for each body while somebody listens. */
export interface ScannedBody {
  /** As in the API description: "POST /api/queues/:queue/messages". */
  route: string;
  units: number;
  read: JsonCounts;
  /** 0 if the body was refused before. */
  valuesBuilt: number;
}

export const scannedBodies = channel('shardlab:scanned-body');

/**
 * Parses the JSON bodies of all routes of this scope. Payloads of messages stay text (`JsonText`). Objects are copied property
 * by property and looked up in maps, so a property named __proto__ is only data; closed schemas refuse it as unknown.
 */
export function readJsonBodies(app: App): void {
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      const { method, url = '', schema } = request.routeOptions;
      const text = decodeJsonBody(body, request.headers['content-type']);
      const shape = shapeOf((schema?.body as object | undefined) ?? {});
      if (!scannedBodies.hasSubscribers) return parseJson(text, { shape });
      const publish = (read: JsonCounts, valuesBuilt: number) =>
        scannedBodies.publish({
          route: `${method} ${url}`,
          units: text.length,
          read,
          valuesBuilt,
        } satisfies ScannedBody);
      return parseJson(text, { shape, onScanned: (read) => publish(read, read.values) }, (read) =>
        publish(read, 0),
      );
    },
  );
}

/** Throws `REQUEST_INVALID` for a text that is no JSON, or has too much of something. `onRefused` is told what was read of it. */
export function parseJson(
  text: string,
  options: ParseOptions,
  onRefused?: (read: JsonCounts) => void,
): unknown {
  if (text === '') throw invalidBody('The body is empty; JSON is required');
  try {
    return parseKeepingPayloads(text, options);
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw invalidBody('The body is not JSON', error);
    onRefused?.(error.counts);
    const { path, message, details } = error;
    throw new ServerError('REQUEST_INVALID', {
      message: `The body is not valid: ${faultInWords(error)}`,
      details: { errors: [{ path, message }], ...details },
      cause: error,
    });
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
  const text = withoutByteOrderMark(body.toString('utf8'));
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
