/** Finds what a process of a cluster runs beside its instance. */
import type {
  CreateProcessExtension,
  ProcessExtension,
  ProcessExtensionSpec,
  ProcessHost,
} from './cluster.ts';

/** Returns the start of the extension, with its options. Rejects with what the import throws. */
export async function importExtension({
  module,
  options,
}: ProcessExtensionSpec): Promise<(host: ProcessHost) => Promise<ProcessExtension>> {
  const { createExtension } = (await import(/* @vite-ignore */ module)) as {
    createExtension: CreateProcessExtension;
  };
  return async (host) => createExtension(host, options);
}
