/** The schema of a parameter that counts something: a whole number from `minimum` to `maximum`. */
import Type from 'typebox';

export const countOf = (minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, description });
