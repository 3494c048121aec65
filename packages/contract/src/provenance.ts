/** Where numbers come from: of figures, and of the verdicts that are made of them. */
import Type, { type Static } from 'typebox';

/** Where a figure comes from. `emulated`: the real engine with an injected latency. */
export const Provenance = Type.Union([
  Type.Literal('measured'),
  Type.Literal('emulated'),
  Type.Literal('simulated'),
  Type.Literal('document'),
]);
export type Provenance = Static<typeof Provenance>;
