import { parseSize } from '../../lib/text/units.ts'
import type { FlagsOf } from '../args/args.ts'
import type { OUTPUT_FLAGS } from '../ui/format.ts'
import { CliError, EXIT } from '../ui/output.ts'

/** Flags shared by `mx run` and `mx update`. */
export const RUN_FLAGS = {
  '--name <name>': 'Name of the service (default: the last part of the source)',
  '--source <source>': 'Source of the code; alias of the argument',
  '--image <image>': 'Container image, on a platform with a container runtime',
  '--entrypoint <path>': 'Folder or file of the source to run',
  '--command <command>': 'Start command (default: from the project)',
  '--args <args>': 'Arguments of the command',
  '-e, --env_var <name=value>...': 'Environment variable of the service',
  '--env_vars <name=value>...': 'Alias of --env_var',
  '--secrets <name=value>...': 'Secret environment variable, never shown',
  '--metadata <name=value>...': 'Metadata of the service',
  '--type <type>': 'Custom type label',
  '--instances <n>': 'Number of instances (default: from the project, else 1)',
  '--protocol <mx|http>':
    'Protocol of the service; http: a plain HTTP program that listens on PORT (default: mx)',
  '--port <port>': 'Fixed port of a plain HTTP program',
  '--memory <size>': 'Memory limit of an instance, such as 256mb (default: from the project)',
  '--cpus <n>': 'CPU limit of an instance, such as 0.5 (default: from the project)',
  '--allow_scripts': 'Run install scripts of packages',
}
export type RunFlags = FlagsOf<typeof RUN_FLAGS & typeof OUTPUT_FLAGS>

const PAIR = /^([^=]+)=(.*)$/s
/** Matches the words of a command line, including single- and double-quoted text. */
const WORD = /(?:[^\s"']+|"[^"]*"|'[^']*')+/g
/** Matches variables, pipes and other shell syntax. */
const NEEDS_SHELL = /[$`|&;<>()*?]/

/**
 * Options of a request to the `runtime` service, without unset options.
 *
 * @throws {CliError} for an invalid value
 */
export function toOptions(flags: RunFlags): Record<string, unknown> {
  const { entrypoint, image, type, protocol, allow_scripts } = flags
  const env = [...(flags.env_vars ?? []), ...(flags.env_var ?? [])]
  if (protocol !== undefined && protocol !== 'mx' && protocol !== 'http')
    throw invalid('protocol', 'mx or http', protocol)
  const options = {
    ...{ entrypoint, image, type, protocol, allow_scripts },
    command: flags.command && toCommand(flags.command),
    args: flags.args && splitWords('args', flags.args),
    env: env.length > 0 ? Object.entries(toPairs('env_var', env)).map(joinPair) : undefined,
    secrets: flags.secrets && toPairs('secrets', flags.secrets),
    instances: flags.instances && toNumber('instances', flags.instances, /^[1-9]\d{0,2}$/),
    port: flags.port && toNumber('port', flags.port, /^[1-9]\d{0,4}$/),
    memory: flags.memory && toBytes(flags.memory),
    cpus: flags.cpus && toNumber('cpus', flags.cpus, /^\d{1,4}(\.\d{1,3})?$/),
  }
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

/** @throws {CliError} for text that is not `<name>=<value>` */
export function toPairs(flag: string, texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, value] = PAIR.exec(text) ?? []
      // The text is not printed, because it may be a secret.
      if (name === undefined)
        throw invalid(flag, '<name>=<value>', flag === 'secrets' ? 'no =' : text)
      return [name, value!]
    }),
  )
}

/** Splits a command line, or runs it in a shell if it needs one. Arguments are appended to its last command. */
function toCommand(line: string): readonly string[] {
  return NEEDS_SHELL.test(line)
    ? ['/bin/sh', '-c', `${line} "$@"`, 'sh']
    : splitWords('command', line)
}

function splitWords(flag: string, text: string): readonly string[] {
  const words = text.match(WORD) ?? []
  if (words.join('').length !== text.replace(/("[^"]*"|'[^']*')|\s/g, '$1').length)
    throw invalid(flag, 'words with balanced quotes', text)
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
    // The error below names the valid forms.
  }
  throw invalid('memory', 'a size such as 256mb', text)
}

function invalid(flag: string, expected: string, actual: string): CliError {
  return new CliError(`--${flag} must be ${expected}, got ${actual}`, { status: EXIT.usage })
}
