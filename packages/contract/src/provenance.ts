/** The provenance of figures, and of the verdicts that are based on them. */
import Type, { type Static } from 'typebox';

/** The provenance of a figure. `emulated`: the real engine with an injected latency. */
export const Provenance = Type.Union([
  Type.Literal('measured'),
  Type.Literal('emulated'),
  Type.Literal('simulated'),
  Type.Literal('document'),
]);
export type Provenance = Static<typeof Provenance>;
