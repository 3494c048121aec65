/** Where a process of a distributed transaction stops to be killed: right before or after a step of it. */
export type Role = 'home' | 'shipping' | 'coordinator';

/** Of their instances. */
export const numberOf: Readonly<Record<Role, number>> = { home: 1, shipping: 2, coordinator: 3 };

type Steps = Partial<Record<Role, readonly string[]>>;

/** Of work that the shipping instance gives to the home instance. */
const shipped = {
  shipping: ['shipping', 'asking who commits'],
  home: [
    'taking what is shipped',
    'saying who commits',
    'adding what was shipped to its own branch',
    'writing the prepared branch',
    'writing the commit',
  ],
  coordinator: ['telling a branch its outcome'],
} as const satisfies Steps;

/** Of branches that are prepared and committed over the other one's instance. */
const passedOn = {
  shipping: ['passing on the prepare', 'passing on the commit'],
  home: ['answering the prepare that was passed on', 'answering the commit that was passed on'],
  coordinator: ['telling a branch its outcome'],
} as const satisfies Steps;

/** Of branches that both have work, so that the coordinator stores a decision. */
const decided = {
  home: ['writing the prepared branch', 'writing the commit'],
  shipping: ['writing the prepared branch', 'writing the commit'],
  coordinator: ['storing the decision', 'telling a branch its outcome', 'forgetting the decision'],
} as const satisfies Steps;

type StepOf<S> = S extends Readonly<Record<string, readonly (infer Step extends string)[]>> ? Step : never;
export type Point = `${'before' | 'after'} ${
  | StepOf<typeof shipped>
  | StepOf<typeof passedOn>
  | StepOf<typeof decided>
  | 'writing the rollback'}`;

export interface PointOf {
  role: Role;
  point: Point;
}

const pointsOf = (steps: Steps): PointOf[] =>
  Object.entries(steps).flatMap(([role, own]) =>
    own.flatMap((step) =>
      ['before', 'after'].map((when) => ({ role: role as Role, point: `${when} ${step}` as Point })),
    ),
  );

export const pointsOfShipped: readonly PointOf[] = pointsOf(shipped);
export const pointsOfPassedOn: readonly PointOf[] = pointsOf(passedOn);
export const pointsOfDecided: readonly PointOf[] = pointsOf(decided);

/** Where a branch that was in doubt ends in a recovery: at its instance, and between that and the next for the coordinator. */
const atBranch: readonly Point[] = ['before writing the commit', 'before writing the rollback'];
export const pointsOfRecovery: Readonly<Record<Role, readonly Point[]>> = {
  home: atBranch,
  shipping: atBranch,
  coordinator: ['after telling a branch its outcome', 'before forgetting the decision'],
};
