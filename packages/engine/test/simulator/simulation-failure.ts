/** A failure of a simulated run: what is wrong, in a sentence. */
export class SimulationFailure extends Error {}

export function expectThat(condition: boolean, sentence: () => string): void {
  if (!condition) throw new SimulationFailure(sentence());
}
