/** The query string of the API's reference: what is searched for, and the call that is open. */
export interface ApiSearch {
  text?: string;
  /** Id of a call. */
  call?: string;
}

export function readApiSearch(search: Record<string, unknown>): ApiSearch {
  return {
    ...(typeof search.text === 'string' && search.text !== '' ? { text: search.text.slice(0, 100) } : {}),
    ...(typeof search.call === 'string' ? { call: search.call.slice(0, 200) } : {}),
  };
}
