/** The body of every response that is an error. */
import Type, { type Static } from 'typebox';

export const ErrorBody = Type.Object(
  {
    code: Type.String(),
    message: Type.String(),
    details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    retryable: Type.Boolean(),
  },
  { additionalProperties: true },
);
export type ErrorBody = Static<typeof ErrorBody>;
