/** JSON in frames: its values are counted before any is built, because 32 MiB of brackets would be built for seconds. */
import { protocolError } from './protocol.ts';

const quote = 0x22;
const backslash = 0x5c;
const separators = new Set([...'[{,'].map((character) => character.charCodeAt(0)));

/** Values of a call that may have an argument of the application: what it gives a service. */
const callValuesMax = 100_000;

/** Throws `PROTOCOL_INVALID` for a text that is no JSON, or has more than `valuesMax` values; `what` begins its sentence. */
export function parseBoundedJson<T>(text: string, what: string, valuesMax = callValuesMax): T {
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfText(text, at);
    else if (separators.has(code)) {
      values += 1;
      if (values > valuesMax) throw protocolError(`${what} has more than ${valuesMax} values`);
    }
  }
  try {
    return JSON.parse(text) as T;
  } catch {
    throw protocolError(`${what} is not JSON`);
  }
}

/** Of an unfinished text, the end of all. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}
