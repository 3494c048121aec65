/** The lab's command line. It runs the same code as the server, without needing one. */
import { runCommand } from './cli/commands.ts';

// It is not an error if the reader of the output closes the pipe early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

process.exitCode = await runCommand(process.argv.slice(2));
