/** The query string of the editor: where the scenario comes from. */
export interface EditorSearch {
  /** A scenario to be changed, or copied if it is built in. */
  scenario?: string;
  /** A run whose scenario is to be copied. */
  run?: string;
}

export function readEditorSearch({ scenario, run }: Record<string, unknown>): EditorSearch {
  return {
    ...(typeof scenario === 'string' ? { scenario } : {}),
    ...(typeof run === 'string' ? { run } : {}),
  };
}
