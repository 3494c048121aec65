import Type, { type Static } from 'typebox';

/** The steps of a conversion, in the order the white paper gives them. */
export const ConversionStep = Type.Union([
  Type.Literal('stop-enqueue'),
  Type.Literal('drain'),
  Type.Literal('stop-dequeue'),
  Type.Literal('check-empty'),
  Type.Literal('drop'),
  Type.Literal('size-cache'),
  Type.Literal('create'),
  Type.Literal('start'),
]);
export type ConversionStep = Static<typeof ConversionStep>;
