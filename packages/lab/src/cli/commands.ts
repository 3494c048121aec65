/** Reads the arguments and does what they say. Every command resolves with the exit code of the process. */
import { parseArgs } from 'node:util';
import { calibrateCommand } from './calibrate.ts';
import { checkCommand } from './check.ts';
import { claimsCommand } from './claims.ts';
import { convertCommand } from './convert.ts';
import { exitCodes } from './exit-codes.ts';
import { listCommand } from './list.ts';
import { modelCommand } from './model.ts';
import { runScenariosCommand } from './run.ts';
import { validateCommand } from './validate.ts';

const help = `Usage: npm run lab -- <command>

  run <scenario>... [options]  run scenarios one after the other: files, or ids of those in scenarios/
    --quick                  the smaller sweep and shorter phases that the scenario names
    --json <file>            write the run, with points, claims and environment, as JSON; of several
                             scenarios the folder for a file of each
    --require <claim>        fail unless this claim holds; may be given several times
    --data-dir <folder>      where the scratch data lies; default the system's folder for it.
                             The verdicts are kept there too, by default in DATA_DIR or data/
  claims                     what the document says, and the last verdict of each claim
    --data-dir <folder>      as above
  validate <file>            name every fault of a scenario
  list                       the scenarios that come with the lab
  calibrate [options]        measure what the engine's work costs here, for the model; about 15 s
    --json <file>            where to; default scenarios/hardware/this-machine.json
    --data-dir <folder>      as above
  model <hardware> [options] simulate a machine: a file, or the id of one in scenarios/hardware/
    --fit                    fit its free parameters to its observations again, and write the file
    --run <file>             hold the model against the points of a run, as run --json wrote it;
                             may be given several times
    --scale                  what more instances and larger machines would do
    --write <file>           put the tables into their sections of a Markdown file
  check <folder> [options]   look over the data of an engine: every block, and what was acknowledged
    --json <file>            write what was found as JSON
    --accept-loss            save what can be read, give up what cannot; keep a copy of the folder first
  convert <folder> <queue>   turn an unsharded queue into a sharded one of the same name: stop enqueue, drain,
                             stop dequeue, check empty, drop, size the cache, create, start. Its processes may
                             be at work; if it is interrupted the same command goes on with it
    --shards <n>             shards on each instance; default 1
    --attempts-max <n>       hand-outs before a message goes to the exception queue; default no limit
    --retry-delay <ms>       pause before a message that came back is handed out again
    --priorities             messages have priorities
    --cache-mib <n>          size of the message cache of each instance; default as it is
    --drain-s <n>            how long to wait for the queue to be emptied; default 600
    --cancel                 give a conversion up that is not done: the queue goes on as it was
    --json <file>            write the conversion, with when each step was done, as JSON
  --help                     this text

Exit code: 0 done; 1 an error, lost, doubled, damaged or disordered messages, or a required
claim that does not hold; 2 unusable arguments or scenario; 130 interrupted.
A claim that does not hold is a finding, not an error, unless --require names it.
`;

export async function runCommand(args: string[]): Promise<number> {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    return usageError((error as Error).message);
  }
  const { values, positionals } = parsed;
  const [command, target, ...rest] = positionals;
  if (values.help) {
    process.stdout.write(help);
    return exitCodes.done;
  }
  const unexpected = command === 'run' ? undefined : rest[command === 'convert' ? 1 : 0];
  if (unexpected !== undefined) return usageError(`Unexpected argument "${unexpected}"`);
  switch (command) {
    case 'run':
      if (target === undefined) return usageError('run needs a scenario');
      return runScenariosCommand([target, ...rest], values);
    case 'validate':
      if (target === undefined) return usageError('validate needs a file');
      return validateCommand(target);
    case 'calibrate':
      if (target !== undefined) return usageError(`Unexpected argument "${target}"`);
      return calibrateCommand(values);
    case 'model':
      if (target === undefined) return usageError('model needs a hardware file');
      return modelCommand(target, values);
    case 'check':
      if (target === undefined) return usageError('check needs a folder');
      return checkCommand(target, { json: values.json, acceptLoss: values['accept-loss'] });
    case 'convert':
      if (target === undefined || rest[0] === undefined)
        return usageError('convert needs a folder and a queue');
      return convertCommand(target, rest[0], values);
    case 'list':
      return listCommand();
    case 'claims':
      if (target !== undefined) return usageError(`Unexpected argument "${target}"`);
      return claimsCommand(values);
    case undefined:
      return usageError('A command is missing');
    default:
      return usageError(`Unknown command "${command}"`);
  }
}

function parse(args: string[]) {
  return parseArgs({
    args,
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'string' },
      require: { type: 'string', multiple: true, default: [] },
      'data-dir': { type: 'string' },
      'accept-loss': { type: 'boolean', default: false },
      fit: { type: 'boolean', default: false },
      run: { type: 'string', multiple: true, default: [] },
      scale: { type: 'boolean', default: false },
      write: { type: 'string' },
      shards: { type: 'string' },
      'attempts-max': { type: 'string' },
      'retry-delay': { type: 'string' },
      priorities: { type: 'boolean', default: false },
      'cache-mib': { type: 'string' },
      'drain-s': { type: 'string' },
      cancel: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
}

function usageError(sentence: string): number {
  process.stderr.write(`${sentence}\n\n${help}`);
  return exitCodes.usage;
}
