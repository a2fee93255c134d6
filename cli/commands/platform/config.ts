import type { FlagsOf } from '../../args/args.ts'
import { readText } from '../../args/input.ts'
import { type Command, defineCommand } from '../../command.ts'
import { isNotFound, type Session, sessionFlags, withSession } from '../../session/session.ts'
import { type Format, OUTPUT_FLAGS, print, printDone, toFormat } from '../../ui/format.ts'
import { CliError, EXIT, usageError } from '../../ui/output.ts'
import { prompt } from '../../ui/prompt.ts'
import { formatTable } from '../../ui/table.ts'

const FLAGS = {
  '--secret': 'get: show secrets; set: encrypt the value as a secret',
  '--version <n>': 'get: earlier version, as listed by history',
  '--all': 'get, del: all paths',
  '-v, --verbose': 'list: mark secrets',
  ...OUTPUT_FLAGS,
  ...sessionFlags('Namespace'),
}
type ConfigFlags = FlagsOf<typeof FLAGS>

/** Response of `Config.Get`. */
interface ConfigValue {
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
  /** Path that starts the next page; absent on the last page. */
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
        const fullPath = toPath(path, flags)
        const format = toFormat(flags)
        process.stdout.write(await formatData(format, await get(session, fullPath, flags)))
      }),
    'set <path> [value]': ([path, input], flags) =>
      withSession(flags, async ({ call, namespace }) => {
        const { secret = false } = flags
        const format = toFormat(flags)
        const value = { data: await readValue(input, secret) }
        const request = { namespace, path, value, options: { secret } }
        const { version } = await call<Changed>('config', 'Config.Set', request)
        await printDone(format, { path, version }, `${path} was set`)
      }),
    'del [path]': ([input], flags) =>
      withSession(flags, async ({ call, namespace }) => {
        const path = toPath(input, flags)
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
    'rollback <version>': ([target], flags) =>
      withSession(flags, async ({ call, namespace }) => {
        const format = toFormat(flags)
        const request = { namespace, version: toVersion(target) }
        const { version } = await orNotFound(call<Changed>('config', 'Config.Rollback', request))
        await printDone(
          format,
          { version },
          `Rolled back to version ${target}, as version ${version}`,
        )
      }),
  },
})

export default command

/**
 * Path. An empty path selects all paths and requires `--all`, so that an unset shell variable does not delete
 * everything.
 *
 * @throws {CliError}
 */
function toPath(path: string | undefined, { all = false }: ConfigFlags): string {
  if (all && !path) return ''
  if (path && !all) return path
  const problem = all ? `--all cannot be combined with ${path}` : 'a path or --all is required'
  throw usageError('config', problem)
}

/** Reads a value as JSON. @throws {CliError} if the value does not exist (reference 15.25) */
async function get(
  { call, namespace }: Session,
  path: string,
  { secret = false, version }: ConfigFlags,
): Promise<string> {
  const options = { secret, version: version === undefined ? 0 : toVersion(version) }
  const request = { namespace, path, options }
  const { value, exists } = await orNotFound(call<ConfigValue>('config', 'Config.Get', request))
  if (exists) return value.data
  throw new CliError(`not found: ${path}`)
}

/**
 * Formats a value. In text format, strings have no quotes. JSON is printed unchanged, because its numbers may exceed
 * the range of JavaScript.
 */
async function formatData(format: Format, data: string): Promise<string> {
  if (format === 'yaml') {
    const { parse, stringify } = await import('yaml')
    return stringify(parse(data, { intAsBigInt: true }))
  }
  const isText = format === 'text' && data.startsWith('"')
  return `${isText ? JSON.parse(data) : data}\n`
}

/** Reads a value as JSON. Text that is not JSON becomes a string. */
async function readValue(input: string | undefined, secret: boolean): Promise<string> {
  const text =
    input === undefined
      ? await prompt('Enter value: ', 'VALUE', { hidden: secret })
      : await readText(input, 'VALUE')
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
  const rows = entries.map(({ path, secret }) => [path, formatFlag(secret)])
  return formatTable([['PATH', 'SECRET'], ...rows], 0)
}

function formatVersions(versions: readonly Version[]): string {
  const rows = versions.map(({ version, timestamp, account, action, path, secret }) => [
    String(version),
    new Date(timestamp * 1000).toISOString().replace('.000', ''),
    account || NONE,
    action,
    formatFlag(secret),
    path || NONE,
  ])
  return formatTable([['VERSION', 'TIME', 'ACCOUNT', 'ACTION', 'SECRET', 'PATH'], ...rows], 0)
}

function formatFlag(flag: boolean): string {
  return flag ? 'yes' : 'no'
}

function toVersion(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new CliError(`Invalid version: ${text}, must be one of 'mx config history'`, {
    status: EXIT.usage,
  })
}

/** Uses exit status 1 instead of 127 for an unknown version or path. */
async function orNotFound<R>(response: Promise<R>): Promise<R> {
  try {
    return await response
  } catch (error) {
    throw isNotFound(error) ? new CliError(error.message, { cause: error }) : error
  }
}
