/** Text in which names stand between backticks, as documents write them. */
export function CodeText({ text }: { text: string }) {
  return text.split('`').map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of a fixed text have no other identity
    index % 2 === 0 ? part : <code key={index}>{part}</code>,
  );
}
