/** The session of a browser that has shown the server's key. */
import Type, { type Static } from 'typebox';

const closed = { additionalProperties: false } as const;

export const Login = Type.Object({ key: Type.String({ minLength: 1, maxLength: 1024 }) }, closed);
export type Login = Static<typeof Login>;

export const BrowserSession = Type.Object(
  {
    keyRequired: Type.Boolean({ description: 'Whether this server has a key' }),
    expiresAtMs: Type.Union([Type.Integer(), Type.Null()], {
      description:
        "When this browser's session ends, epoch milliseconds; null of a client that sends the key itself",
    }),
  },
  closed,
);
export type BrowserSession = Static<typeof BrowserSession>;
