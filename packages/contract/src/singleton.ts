/** Singleton services of the cluster: who has each, since when, and the calls that clients make of them. */
import Type, { type Static } from 'typebox';

const closed = { additionalProperties: false } as const;
const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const serviceLimits = { callCharactersMax: 100 } as const;

export const ServiceTenure = Type.Object(
  {
    number: Type.Integer({ description: 'Activations of the service, from 1' }),
    epoch: Type.Integer({
      description: 'Of the opening of its instance: nothing is written under an earlier one',
    }),
    pid: Type.Integer(),
    host: Type.Integer({ description: 'The instance that the process belongs to' }),
    activatedAtMs: Type.Number(),
    deactivatedAtMs: nullable(
      Type.Number({ description: 'null while it lasts, and if its process was killed' }),
    ),
  },
  closed,
);
export type ServiceTenure = Static<typeof ServiceTenure>;

export const ServiceState = Type.Object(
  {
    name: Type.String(),
    preferred: Type.Integer({
      description: 'The instance in whose own process it is active while that runs',
    }),
    module: Type.Union([Type.Literal('timer'), Type.Literal('folder-poller'), Type.Literal('module')], {
      description: 'module: code of the application',
    }),
    status: Type.Union(
      [
        Type.Literal('activating'),
        Type.Literal('active'),
        Type.Literal('deactivating'),
        Type.Literal('failed'),
        Type.Literal('inactive'),
        Type.Literal('unreachable'),
      ],
      { description: 'unreachable: no process serves its instance at the moment' },
    ),
    holder: nullable(
      Type.Object(
        { pid: Type.Integer(), instance: Type.Integer() },
        { ...closed, description: 'The process that has it, and the instance which that process owns' },
      ),
    ),
    epoch: nullable(Type.Integer()),
    sinceMs: nullable(Type.Number({ description: 'Since when it is active' })),
    calls: Type.Array(Type.String()),
    failure: nullable(
      Type.Object(
        { code: Type.String(), message: Type.String() },
        { ...closed, description: 'Why it was deactivated last, if it failed' },
      ),
    ),
    history: Type.Array(ServiceTenure, { description: 'Its last 100 activations, oldest first' }),
  },
  closed,
);
export type ServiceState = Static<typeof ServiceState>;

export const ServiceList = Type.Object({ services: Type.Array(ServiceState) }, closed);
export type ServiceList = Static<typeof ServiceList>;

export const CallOfService = Type.Object(
  {
    call: Type.String({ minLength: 1, maxLength: serviceLimits.callCharactersMax }),
    argument: Type.Optional(Type.Unknown({ description: 'Any JSON, at most 256 KiB' })),
  },
  closed,
);
export type CallOfService = Static<typeof CallOfService>;

export const ServiceResult = Type.Object({ result: Type.Unknown({ description: 'Any JSON' }) }, closed);
export type ServiceResult = Static<typeof ServiceResult>;
