/** The address of this server that the browser wanted to open. */
export interface LoginSearch {
  next?: string;
}

export function readLoginSearch(search: Record<string, unknown>): LoginSearch {
  const { next } = search;
  return typeof next === 'string' && isOwnAddress(next) ? { next } : {};
}

/** A second slash, or a backslash, would begin the name of another host. */
function isOwnAddress(address: string): boolean {
  return /^\/(?![/\\])/.test(address) && !/^\/login(?![\w-])/.test(address);
}
