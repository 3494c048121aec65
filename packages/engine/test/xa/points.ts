/** Points at which a process of a distributed transaction stops to be killed: right before or after a step. */
export type Role = 'home' | 'shipping' | 'coordinator';

/** The numbers of the instances by role. */
export const numberOf: Readonly<Record<Role, number>> = { home: 1, shipping: 2, coordinator: 3 };

type Steps = Partial<Record<Role, readonly string[]>>;

/** Steps if the shipping instance ships its work to the home instance. */
const shipped = {
  shipping: ['shipping', 'asking who commits'],
  home: [
    'receiving shipped work',
    'answering who commits',
    'adding shipped work to its own branch',
    'writing the prepared branch',
    'writing the commit',
  ],
  coordinator: ['telling a branch its outcome'],
} as const satisfies Steps;

/** Steps if branches are prepared and committed by calls to the other instance. */
const passedOn = {
  shipping: ['passing on the prepare', 'passing on the commit'],
  home: ['answering the prepare that was passed on', 'answering the commit that was passed on'],
  coordinator: ['telling a branch its outcome'],
} as const satisfies Steps;

/** Steps if both branches have work, so that the coordinator stores a decision. */
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

/** Points at which a recovery ends a branch that was in doubt: at its instance, and for the coordinator between two branches. */
const atBranch: readonly Point[] = ['before writing the commit', 'before writing the rollback'];
export const pointsOfRecovery: Readonly<Record<Role, readonly Point[]>> = {
  home: atBranch,
  shipping: atBranch,
  coordinator: ['after telling a branch its outcome', 'before forgetting the decision'],
};
