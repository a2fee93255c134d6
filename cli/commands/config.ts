import type { FlagsOf } from '../args/args.ts'
import { readText } from '../args/input.ts'
import { type Command, defineCommand } from '../command.ts'
import { isNotFound, type Session, sessionFlags, withSession } from '../session/session.ts'
import { type Format, OUTPUT_FLAGS, print, printDone, toFormat } from '../ui/format.ts'
import { CliError, EXIT, usageError } from '../ui/output.ts'
import { prompt } from '../ui/prompt.ts'
import { formatTable } from '../ui/table.ts'

const FLAGS = {
  '--secret': 'Of get: shows secrets; of set: the value is one, and encrypted',
  '--version <n>': 'Of get: as it was, see history',
  '--all': 'Of get and del: everything, in place of a path',
  '-v, --verbose': 'Of list: also which are secret',
  ...OUTPUT_FLAGS,
  ...sessionFlags('Namespace'),
}
type ConfigFlags = FlagsOf<typeof FLAGS>

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

const command: Command = defineCommand({
  name: 'config',
  description: 'Read and change the configuration of services',
  sharesServiceName: true,
  flags: FLAGS,
  examples: [
    'mx config set helloworld.greeting Hello',
    `mx config set helloworld.db '{"host":"localhost","pool":{"max":10}}'`,
    'mx config set --secret helloworld.db.password - < password.txt',
    'mx config get helloworld.db.pool.max',
    'mx config get helloworld --version 12',
    'mx config rollback 12',
  ],
  subcommands: {
    'get [path]': ([path], flags) =>
      withSession(flags, async (session) => {
        const wanted = toPath(path, flags)
        const format = toFormat(flags)
        process.stdout.write(await formatData(format, await get(session, wanted, flags)))
      }),
    'set <path> [value]': ([path, given], flags) =>
      withSession(flags, async ({ call, namespace }) => {
        const { secret = false } = flags
        const format = toFormat(flags)
        const value = { data: await readValue(given, secret) }
        const request = { namespace, path, value, options: { secret } }
        const { version } = await call<Changed>('config', 'Config.Set', request)
        await printDone(format, { path, version }, `${path} was set`)
      }),
    'del [path]': ([given], flags) =>
      withSession(flags, async ({ call, namespace }) => {
        const path = toPath(given, flags)
        const format = toFormat(flags)
        const request = { namespace, path }
        const { version } = await call<Changed>('config', 'Config.Delete', request)
        await printDone(format, { path, version }, `${path || 'everything'} was deleted`)
      }),
    'list [path]': ([path = ''], flags) =>
      withSession(flags, async (session) => {
        const format = toFormat(flags)
        const entries = await list(session, path)
        await print(format, entries, formatEntries(entries, flags.verbose ?? false))
      }),
    history: (_, flags) =>
      withSession(flags, async ({ call, namespace }) => {
        const format = toFormat(flags)
        type Reply = { readonly versions: readonly Version[] }
        const { versions } = await call<Reply>('config', 'Config.History', { namespace })
        await print(format, versions, formatVersions(versions))
      }),
    'rollback <version>': ([given], flags) =>
      withSession(flags, async ({ call, namespace }) => {
        const format = toFormat(flags)
        const request = { namespace, version: toVersion(given) }
        const { version } = await orNotFound(call<Changed>('config', 'Config.Rollback', request))
        await printDone(format, { version }, `back to version ${given}, as version ${version}`)
      }),
  },
})

export default command

/** Empty: everything, which must be said, as a variable that is not set says nothing. @throws {CliError} */
function toPath(path: string | undefined, { all = false }: ConfigFlags): string {
  if (all && !path) return ''
  if (path && !all) return path
  const what = all ? `--all leaves no room for ${path}` : 'the path is missing; --all is everything'
  throw usageError('config', what)
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
