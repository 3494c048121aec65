import { type RefObject, useEffect, useMemo, useRef } from 'react';
import { type FormFields, placeFaults } from '../model/form-faults.ts';

/** Radio buttons and groups of checkboxes cannot be marked as invalid themselves. */
const firstAtFault = '[aria-invalid="true"], [data-faulty] input:checked';

export interface FormFaults<Name extends string> {
  /** Ref for the form: its first faulty field gets the focus. */
  form: RefObject<HTMLFormElement | null>;
  /** The server's fault about a field. */
  fault(name: Name): string | undefined;
  /** An error that is about none of the fields. */
  rest: Error | null;
}

/** The server's faults about a refused form, by field. `fields` is the same object at each call. */
export function useFormFaults<Name extends string>(
  error: Error | null,
  fields: FormFields<Name>,
): FormFaults<Name> {
  const form = useRef<HTMLFormElement>(null);
  const { byField, rest } = useMemo(() => placeFaults(error, fields), [error, fields]);
  useEffect(() => {
    if (byField.size > 0) form.current?.querySelector<HTMLElement>(firstAtFault)?.focus();
  }, [byField]);
  return { form, fault: (name) => byField.get(name), rest };
}
