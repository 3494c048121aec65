/** The lab's command line. It runs the same code as the server, without needing one. */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Half of the start of a trial's process is compiling the same modules again. The processes inherit the variable.
// An empty one counts as not set: Node would write its files into the working folder.
process.env.NODE_COMPILE_CACHE ||= fileURLToPath(
  new URL('../../../node_modules/.shardlab/compiled', import.meta.url),
);
enableCompileCache(process.env.NODE_COMPILE_CACHE);
const { runCommand } = await import('./cli/commands.ts');

// It is not an error if the reader of the output closes the pipe early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

process.exitCode = await runCommand(process.argv.slice(2));
