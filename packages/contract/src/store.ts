/** The store of a server's queues, and its capabilities. */
import Type, { type Static } from 'typebox';

const closed = { additionalProperties: false } as const;

export const StoreInfo = Type.Object(
  {
    store: Type.Union([Type.Literal('local'), Type.Literal('nats-jetstream')], {
      description:
        "local: the engine, in the server's data folder; nats-jetstream: servers of a NATS cluster",
    }),
    servers: Type.Array(Type.String(), { description: 'Addresses of the NATS servers, as configured' }),
    features: Type.Array(
      Type.Object(
        {
          feature: Type.String({ description: 'As in `details.feature` of a refusal' }),
          about: Type.String(),
          support: Type.Union([Type.Literal('yes'), Type.Literal('weaker'), Type.Literal('no')], {
            description:
              'weaker: it works, and promises less than `about` says; no: refused with FEATURE_UNSUPPORTED',
          }),
          note: Type.Union([Type.String(), Type.Null()]),
        },
        closed,
      ),
    ),
  },
  closed,
);
export type StoreInfo = Static<typeof StoreInfo>;
