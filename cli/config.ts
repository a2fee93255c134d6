import type { CAC } from 'cac'
import { type CommandLine, readCommandLine } from './args/args.ts'
import { readText } from './args/input.ts'
import { runSubcommand, type Subcommand } from './args/subcommands.ts'
import { isNotFound, SESSION_FLAGS, type Session, withSession } from './session/session.ts'
import { type Format, OUTPUT_FLAGS, print, printDone, toFormat } from './ui/format.ts'
import { CliError, EXIT } from './ui/output.ts'
import { prompt } from './ui/prompt.ts'
import { formatTable } from './ui/table.ts'

const FLAGS = {
  ...SESSION_FLAGS,
  ...OUTPUT_FLAGS,
  secret: 'boolean',
  version: 'string',
  all: 'boolean',
  verbose: 'boolean',
} as const
type ConfigFlags = CommandLine<typeof FLAGS>['flags']

/** What a path leads to. */
interface Reading {
  /** JSON. */
  readonly value: { readonly data: string }
  readonly exists: boolean
}

interface Entry {
  readonly path: string
  readonly secret: boolean
}

interface EntryPage {
  readonly entries: readonly Entry[]
  /** There are more: list after this path. */
  readonly next?: string
}

interface Version extends Entry {
  readonly version: number
  /** Seconds since 1970. */
  readonly timestamp: number
  readonly account: string
  readonly action: string
}

interface Changed {
  readonly version: number
}

const NONE = 'n/a'

/** `mx config` and what may follow it (specification: Command line; reference 3). */
const SUBCOMMANDS: readonly Subcommand<ConfigFlags>[] = [
  {
    words: 'get',
    args: ['[PATH]'],
    run: ([path], flags) =>
      withSession(flags, async (session) => {
        const wanted = toPath(path, flags)
        const format = toFormat(flags)
        process.stdout.write(await formatData(format, await get(session, wanted, flags)))
      }),
  },
  {
    words: 'set',
    args: ['PATH', '[VALUE]'],
    run: ([path, given], flags) =>
      withSession(flags, async ({ call, namespace }) => {
        const { secret = false } = flags
        const format = toFormat(flags)
        const value = { data: await readValue(given, secret) }
        const request = { namespace, path, value, options: { secret } }
        const { version } = await call<Changed>('config', 'Config.Set', request)
        await printDone(format, { path, version }, `${path} was set`)
      }),
  },
  {
    words: 'del',
    args: ['[PATH]'],
    run: ([given], flags) =>
      withSession(flags, async ({ call, namespace }) => {
        const path = toPath(given, flags)
        const format = toFormat(flags)
        const request = { namespace, path }
        const { version } = await call<Changed>('config', 'Config.Delete', request)
        await printDone(format, { path, version }, `${path || 'everything'} was deleted`)
      }),
  },
  {
    words: 'list',
    args: ['[PATH]'],
    run: ([path = ''], flags) =>
      withSession(flags, async (session) => {
        const format = toFormat(flags)
        const entries = await list(session, path)
        await print(format, entries, formatEntries(entries, flags.verbose ?? false))
      }),
  },
  {
    words: 'history',
    args: [],
    run: (_, flags) =>
      withSession(flags, async ({ call, namespace }) => {
        const format = toFormat(flags)
        type Reply = { readonly versions: readonly Version[] }
        const { versions } = await call<Reply>('config', 'Config.History', { namespace })
        await print(format, versions, formatVersions(versions))
      }),
  },
  {
    words: 'rollback',
    args: ['VERSION'],
    run: ([given], flags) =>
      withSession(flags, async ({ call, namespace }) => {
        const format = toFormat(flags)
        const request = { namespace, version: toVersion(given!) }
        const { version } = await orNotFound(call<Changed>('config', 'Config.Rollback', request))
        await printDone(format, { version }, `back to version ${given}, as version ${version}`)
      }),
  },
]

/** @throws {CliError} */
export async function runConfig(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  await runSubcommand('config', SUBCOMMANDS, words, flags)
}

/** Empty: everything, which must be said, as a variable that is not set says nothing. @throws {CliError} */
function toPath(path: string | undefined, { all = false }: ConfigFlags): string {
  if (all && !path) return ''
  if (path && !all) return path
  const what = all ? `--all leaves no room for ${path}` : 'the path is missing; --all is everything'
  throw new CliError(`${what}. See 'mx config --help'`, { status: EXIT.usage })
}

/** JSON. @throws {CliError} where there is nothing (reference 15.25). */
async function get(
  { call, namespace }: Session,
  path: string,
  { secret = false, version }: ConfigFlags,
): Promise<string> {
  const options = { secret, version: version === undefined ? 0 : toVersion(version) }
  const request = { namespace, path, options }
  const { value, exists } = await orNotFound(call<Reading>('config', 'Config.Get', request))
  if (exists) return value.data
  throw new CliError(`not found: ${path}`)
}

/** As people see it: a text without its quotes. JSON is as it was set: its numbers may be longer than those of JavaScript. */
async function formatData(format: Format, data: string): Promise<string> {
  if (format === 'yaml') {
    const { parse, stringify } = await import('yaml')
    return stringify(parse(data, { intAsBigInt: true }))
  }
  const isText = format === 'text' && data.startsWith('"')
  return `${isText ? JSON.parse(data) : data}\n`
}

/** JSON of what was typed, or is handed over: what is none is a text. */
async function readValue(given: string | undefined, secret: boolean): Promise<string> {
  const text =
    given === undefined
      ? await prompt('Enter value: ', 'VALUE', { hidden: secret })
      : await readText(given, 'VALUE')
  try {
    JSON.parse(text)
    return text
  } catch {
    return JSON.stringify(text)
  }
}

async function list({ call, namespace }: Session, path: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    const request = { namespace, path, options: { after } }
    const page: EntryPage = await call('config', 'Config.List', request)
    entries.push(...page.entries)
    after = page.next
  }
  return entries
}

function formatEntries(entries: readonly Entry[], verbose: boolean): string {
  if (!verbose) return entries.map(({ path }) => `${path}\n`).join('')
  const rows = entries.map(({ path, secret }) => [path, toYes(secret)])
  return formatTable([['PATH', 'SECRET'], ...rows], 0)
}

function formatVersions(versions: readonly Version[]): string {
  const rows = versions.map(({ version, timestamp, account, action, path, secret }) => [
    String(version),
    new Date(timestamp * 1000).toISOString().replace('.000', ''),
    account || NONE,
    action,
    toYes(secret),
    path || NONE,
  ])
  return formatTable([['VERSION', 'TIME', 'ACCOUNT', 'ACTION', 'SECRET', 'PATH'], ...rows], 0)
}

function toYes(is: boolean): string {
  return is ? 'yes' : 'no'
}

function toVersion(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new CliError(`Invalid version: ${text}, must be one of 'mx config history'`, {
    status: EXIT.usage,
  })
}

/** That there is no such version, or nothing at all, is what the command ends with. */
async function orNotFound<R>(reply: Promise<R>): Promise<R> {
  try {
    return await reply
  } catch (error) {
    throw isNotFound(error) ? new CliError(error.message, { cause: error }) : error
  }
}
