/** Characters that nobody sees, or that change how the rest of a line is shown: they are written as escapes in messages. */
const invisible = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** A text of a client as it may stand in a message. */
export const visibleText = (text: string): string =>
  text.replace(invisible, (character) => {
    const code = character.codePointAt(0)!;
    const digits = code.toString(16);
    return code > 0xffff ? `\\u{${digits}}` : `\\u${digits.padStart(4, '0')}`;
  });

const pathUnitsShown = 200;

/** A fault of a document as a part of a sentence: "/seed: Must be at least 0, not -1". */
export function faultInWords({ path, message }: { path: string; message: string }): string {
  if (path === '') return message;
  const shown = path.length > pathUnitsShown ? `${path.slice(0, pathUnitsShown)}…` : path;
  return `${visibleText(shown)}: ${message}`;
}
