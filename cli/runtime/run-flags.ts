import { parseSize } from '../../lib/text/units.ts'
import type { FlagsOf } from '../args/args.ts'
import type { OUTPUT_FLAGS } from '../ui/format.ts'
import { CliError, EXIT } from '../ui/output.ts'

/** Flags that `mx run` and `mx update` share. */
export const RUN_FLAGS = {
  '--name <name>': 'Its name (default: the last part of the source)',
  '--source <source>': 'Where its code is, in place of the first word',
  '--image <image>': 'Image of a container, where the platform runs those',
  '--entrypoint <path>': 'Folder or file of the source to run',
  '--command <command>': 'Command to run it with (default: as the project says)',
  '--args <args>': 'Arguments behind the command',
  '--env_vars <name=value>...': 'Environment of the service',
  '--secrets <name=value>...': 'As --env_vars, but shown to nobody',
  '--metadata <name=value>...': 'What is kept beside it',
  '--type <type>': 'A kind of your choice',
  '--instances <n>': 'How many copies (default: as the project says, else 1)',
  '--protocol <mx|http>': 'http: a plain HTTP program that listens where PORT says (default: mx)',
  '--port <port>': 'Where such a program listens instead',
  '--memory <size>': 'Memory of a copy, such as 256mb (default: as the project says)',
  '--cpus <n>': 'Processors of a copy, such as 0.5 (default: as the project says)',
  '--allow_scripts': 'Packages may run programs of theirs while they are installed',
}
export type RunFlags = FlagsOf<typeof RUN_FLAGS & typeof OUTPUT_FLAGS>

const PAIR = /^([^=]+)=(.*)$/s
/** Words of a command line: quotes of either kind hold blanks together. */
const WORD = /(?:[^\s"']+|"[^"]*"|'[^']*')+/g
/** Variables, pipes and the like. */
const NEEDS_SHELL = /[$`|&;<>()*?]/

/**
 * How to run it, as the service `runtime` is told: only what was given.
 *
 * @throws {CliError} for a value that is none.
 */
export function toOptions(flags: RunFlags): Record<string, unknown> {
  const { entrypoint, image, type, protocol, allow_scripts } = flags
  if (protocol !== undefined && protocol !== 'mx' && protocol !== 'http')
    throw invalid('protocol', 'mx or http', protocol)
  const options = {
    ...{ entrypoint, image, type, protocol, allow_scripts },
    command: flags.command && toCommand(flags.command),
    args: flags.args && splitWords('args', flags.args),
    env: flags.env_vars && Object.entries(toPairs('env_vars', flags.env_vars)).map(joinPair),
    secrets: flags.secrets && toPairs('secrets', flags.secrets),
    instances: flags.instances && toNumber('instances', flags.instances, /^[1-9]\d{0,2}$/),
    port: flags.port && toNumber('port', flags.port, /^[1-9]\d{0,4}$/),
    memory: flags.memory && toBytes(flags.memory),
    cpus: flags.cpus && toNumber('cpus', flags.cpus, /^\d{1,4}(\.\d{1,3})?$/),
  }
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

/** @throws {CliError} for one that is no `<name>=<value>`. */
export function toPairs(flag: string, texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, value] = PAIR.exec(text) ?? []
      // Of a secret nothing is shown.
      if (name === undefined)
        throw invalid(flag, '<name>=<value>', flag === 'secrets' ? 'no =' : text)
      return [name, value!]
    }),
  )
}

/** A command line that takes a shell gets one; arguments behind it are those of its last command. */
function toCommand(line: string): readonly string[] {
  return NEEDS_SHELL.test(line)
    ? ['/bin/sh', '-c', `${line} "$@"`, 'sh']
    : splitWords('command', line)
}

function splitWords(flag: string, text: string): readonly string[] {
  const words = text.match(WORD) ?? []
  if (words.join('').length !== text.replace(/("[^"]*"|'[^']*')|\s/g, '$1').length)
    throw invalid(flag, 'words whose quotes are closed', text)
  return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'))
}

function joinPair([name, value]: [string, string]): string {
  return `${name}=${value}`
}

function toNumber(flag: string, text: string, form: RegExp): number {
  if (form.test(text)) return Number(text)
  throw invalid(flag, flag === 'cpus' ? 'a number such as 0.5' : 'a whole number above 0', text)
}

function toBytes(text: string): number {
  try {
    const bytes = parseSize(text)
    if (Number.isFinite(bytes)) return bytes
  } catch {
    // Told below.
  }
  throw invalid('memory', 'a size such as 256mb', text)
}

function invalid(flag: string, wanted: string, got: string): CliError {
  return new CliError(`--${flag} must be ${wanted}, got ${got}`, { status: EXIT.usage })
}
