/** The headers by which a request that commits something is done once, however often it is sent. */
import Type, { type Static } from 'typebox';
import { patterns } from './patterns.ts';

export const idempotencyKeyCharactersMax = 200;

/** Headers of the request. */
export const IdempotencyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: idempotencyKeyCharactersMax,
      pattern: patterns.idempotencyKey.pattern,
      description:
        'Names this request, so that it can be repeated: it is done once. Known for 24 hours, or until 1,000,000 later ones. With another content: 422 IDEMPOTENCY_KEY_REUSED',
    }),
  ),
});
export type IdempotencyHeaders = Static<typeof IdempotencyHeaders>;

/** Headers of the answer, by name. */
export const idempotencyAnswerHeaders = {
  'Idempotency-Replayed': {
    type: 'string',
    const: 'true',
    description: 'Present if the request was done before under its Idempotency-Key, and nothing was done now',
  },
} as const;
