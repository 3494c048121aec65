/** A failure of a simulated run, with a message that describes it in a sentence. */
export class SimulationFailure extends Error {}

export function expectThat(condition: boolean, sentence: () => string): void {
  if (!condition) throw new SimulationFailure(sentence());
}
