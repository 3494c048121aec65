/** The lab's command line: the same code as server and dashboard, without either. */
import { runCommand } from './cli/commands.ts';

// A reader that closes the pipe early, as `head` does, is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

process.exitCode = await runCommand(process.argv.slice(2));
