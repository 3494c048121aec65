/** Finds the code of a service: a built-in one, or a module of the application. */
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { QueueError } from '../api/errors.ts';
import type { CreateService, ServiceSpec, SingletonService } from '../api/service.ts';
import { createFolderPoller } from './built-in/folder-poller.ts';
import { createTimer } from './built-in/timer.ts';

const builtIn: Readonly<Record<string, CreateService>> = {
  timer: createTimer,
  'folder-poller': createFolderPoller,
};

/** Throws `SERVICE_SPEC_INVALID`, and what `createService` throws. */
export async function loadService({ name, module, options = null }: ServiceSpec): Promise<SingletonService> {
  const create = Object.hasOwn(builtIn, module) ? builtIn[module]! : await importModule(name, module);
  return create(options);
}

async function importModule(name: string, module: string): Promise<CreateService> {
  const url = isAbsolute(module) ? pathToFileURL(module).href : module;
  if (!url.startsWith('file:')) {
    throw new QueueError('SERVICE_SPEC_INVALID', {
      message: `The module of ${name} is neither built in (${Object.keys(builtIn).join(', ')}) nor an absolute path or file URL`,
    });
  }
  let exported: { createService?: unknown };
  try {
    exported = (await import(/* @vite-ignore */ url)) as typeof exported;
  } catch (cause) {
    throw new QueueError('SERVICE_SPEC_INVALID', {
      message: `The module of ${name} cannot be loaded: ${(cause as Error).message}`,
      cause,
    });
  }
  if (typeof exported.createService === 'function') return exported.createService as CreateService;
  throw new QueueError('SERVICE_SPEC_INVALID', { message: `The module of ${name} exports no createService` });
}
