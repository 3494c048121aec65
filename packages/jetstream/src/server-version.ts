/** The oldest server that can do what the store relies on: atomic batch publish and scheduled messages are of 2.12. */
export const oldestServer = '2.12.0';

/** Whether a version such as `2.15.0` or `2.12.1-preview.2` is `oldestServer` or later. */
export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  const [oldestMajor = 0, oldestMinor = 0] = oldestServer.split('.').map(Number);
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}
