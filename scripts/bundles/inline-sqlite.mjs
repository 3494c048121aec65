/**
 * Includes better-sqlite3 in a bundle, with the path of its native part determined once, at the build: its own code searches for
 * that in every thread (which C library is there, which files exist) and takes a third of a thread's start.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);
const library = dirname(require.resolve('better-sqlite3'));
const virtual = '\0inline-sqlite';
/** `null` if the library was compiled when it was installed; then it is not inlined. */
const native = require(join(library, 'binding.js')).getPrebuildPath();

export const inlineSqlite = {
  name: 'inline-sqlite',
  resolveId(/** @type {string} */ id) {
    if (id !== 'better-sqlite3') return null;
    return native === null ? { id, external: true } : virtual;
  },
  load(/** @type {string} */ id) {
    if (id !== virtual) return null;
    return `
      import createDatabase from ${JSON.stringify(join(library, 'database.js'))};
      import SqliteError from ${JSON.stringify(join(library, 'sqlite-error.js'))};
      const addon = { exports: {} };
      const getAddon = () => {
        if (addon.exports.Database === undefined) process.dlopen(addon, ${JSON.stringify(native)});
        return addon.exports;
      };
      const Database = createDatabase(getAddon, false);
      Database.SqliteError = SqliteError;
      export default Database;
      export { SqliteError };
    `;
  },
};
