/** Observes the calls of a method without changing what it does, for tests that count calls of the engine. */

/** One observed call. `of` is the object whose method was called. */
type CallOf<Method> = Method extends (...args: infer Args) => infer Result
  ? { of: unknown; args: Args; result: Result }
  : never;

/** Returns a function that ends the observation. */
export function observeCalls<Target extends object, Name extends keyof Target>(
  target: Target,
  name: Name,
  observer: (call: CallOf<Target[Name]>) => void,
): () => void {
  const own = Object.getOwnPropertyDescriptor(target, name);
  const original = target[name] as (...args: unknown[]) => unknown;
  const value = function (this: unknown, ...args: unknown[]): unknown {
    const result = original.apply(this, args);
    observer({ of: this, args, result } as CallOf<Target[Name]>);
    return result;
  };
  Object.defineProperty(target, name, { configurable: true, writable: true, value });
  return () => {
    if (own === undefined) Reflect.deleteProperty(target, name);
    else Object.defineProperty(target, name, own);
  };
}
