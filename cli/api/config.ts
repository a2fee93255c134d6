import { readFile } from 'node:fs/promises'
import { type Format, print, toFormat } from '../ui/format.ts'
import { CliError, EXIT } from '../ui/output.ts'
import { formatTable } from '../ui/table.ts'
import { type ConfigClient, createAdminClient, createServerClient } from './config-client.ts'
import { extractFlags } from './extract-flags.ts'

type Applied = Awaited<ReturnType<ConfigClient['apply']>>

const FLAGS = {
  '-o': 'output',
  '--output': 'output',
  '--env': 'env',
  '--target': 'env',
  '--if_match': 'ifMatch',
  '--if-match': 'ifMatch',
} as const
const SERVER = '--server'
const HEADINGS = ['VERSION', 'TIME', 'BY', 'ETAG', 'CHANGES']
const SIGNS = { added: '+', removed: '-', changed: '~' } as const

interface ConfigCommand {
  readonly client: ConfigClient
  readonly format: Format
  readonly words: readonly string[]
  /** ETag of the version to replace. @default the current one */
  readonly ifMatch: string | undefined
}

/**
 * `mx api diff`: exits with status 0 without differences, 1 with differences, and 2 for every error.
 *
 * @throws {CliError}
 */
export async function runDiff(args: readonly string[]): Promise<void> {
  try {
    const { client, format, words } = await readCommand(args, 'diff <file>')
    const result = await client.diff(await readText(words))
    const { changes, restart } = result
    const lines = [...changes.map(formatChange), ...formatRestart(restart)]
    await print(format, result, lines.join(''))
    if (changes.length > 0) process.exitCode = EXIT.failed
  } catch (error) {
    throw toUsageError(error)
  }
}

/** `mx api apply`: replaces the configuration of the running gateway. @throws {CliError} */
export async function runApply(args: readonly string[]): Promise<void> {
  const { client, format, words, ifMatch } = await readCommand(args, 'apply <file>')
  const text = await readText(words)
  const applied = await client.apply(text, ifMatch ?? (await client.current()).etag)
  await print(format, applied, formatApplied(applied))
}

/** `mx api history`: lists the versions, newest first. @throws {CliError} */
export async function runHistory(args: readonly string[]): Promise<void> {
  const { client, format, words } = await readCommand(args, 'history')
  if (words.length > 0) throw usage('expected no argument')
  const versions = (await client.list()).toReversed()
  const rows = versions.map(({ number, time, author, etag, summary }) => {
    return [String(number), new Date(time).toISOString(), author, etag, summary]
  })
  await print(format, { versions }, formatTable([HEADINGS, ...rows], 0))
}

/** `mx api rollback`: applies an earlier version as a new one. @throws {CliError} */
export async function runRollback(args: readonly string[]): Promise<void> {
  const { client, format, words, ifMatch } = await readCommand(args, 'rollback [version]')
  const [version = '0', ...more] = words
  if (more.length > 0 || !/^\d{1,9}$/.test(version))
    throw usage("expected at most one version number from 'mx api history'")
  const match = ifMatch ?? (await client.current()).etag
  const applied = await client.rollback(Number(version), match)
  await print(format, applied, formatApplied(applied))
}

async function readCommand(args: readonly string[], form: string): Promise<ConfigCommand> {
  const { values, rest } = extractFlags(args, FLAGS)
  const [output] = values.output ?? []
  const count = rest.findIndex((word) => word.startsWith('-'))
  const words = count === -1 ? rest : rest.slice(0, count)
  const settings = rest.slice(words.length).filter((flag) => flag !== SERVER)
  const isServer = rest.includes(SERVER) || values.env !== undefined
  if (isServer && settings.length > 0)
    throw usage(`--server cannot be combined with ${settings[0]}: mx api ${form} --server`)
  return {
    client: isServer ? createServerClient(values.env?.at(-1)) : await openAdminClient(settings),
    format: toFormat({ ...(output !== undefined && { output }) }),
    words,
    ifMatch: values.ifMatch?.at(-1),
  }
}

/**
 * Uses `admin_address` and `admin_token` as read by `mx api`, because `mx.yaml` may be invalid or about to be replaced.
 */
async function openAdminClient(flags: readonly string[]): Promise<ConfigClient> {
  const [{ readFlags }, { readEnvironment }, sources, { formatAddress }] = await Promise.all([
    import('../../platform/settings/flags.ts'),
    import('../../platform/settings/env.ts'),
    import('../../platform/settings/sources.ts'),
    import('../../platform/settings/parse/address.ts'),
  ])
  const environment = readEnvironment(process.env, 'api')
  const inputs = sources.mergeInputs(readFlags(flags, 'api'), environment)
  const { adminAddress, adminToken } = sources.mergeSettings(inputs)
  if (adminAddress === undefined || adminAddress.port === 0)
    throw usage('set --admin_address to the admin address of the running gateway')
  if (adminToken === '')
    throw usage('set MX_ADMIN_TOKEN to the admin_token of the running gateway, or use --server')
  return createAdminClient(`http://${formatAddress(adminAddress)}`, adminToken)
}

async function readText([file, ...more]: readonly string[]): Promise<string> {
  if (file === undefined || more.length > 0) throw usage('expected one file, such as mx.yaml')
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new CliError(`cannot read ${file}: ${(error as Error).message}`, {
      status: EXIT.usage,
      cause: error,
    })
  }
}

/** Formats a change, such as `~ setting log_level: info -> debug`. */
function formatChange({ kind, name, change, detail }: Applied['changes'][number]): string {
  return `${SIGNS[change]} ${kind} ${name}${detail === '' ? '' : `: ${detail}`}\n`
}

function formatRestart(restart: readonly string[]): readonly string[] {
  return restart.length === 0 ? [] : [`restart required to apply: ${restart.join(', ')}\n`]
}

function formatApplied({ version, changes, restart, file }: Applied): string {
  const saved =
    file === '' ? 'not saved: the gateway has no configuration file, and a restart loses it' : file
  return [
    ...changes.map(formatChange),
    ...formatRestart(restart),
    `version ${version.number} ${version.etag} is in use (${saved})\n`,
  ].join('')
}

/** Uses status 2, because status 1 of `diff` means that there are differences. */
function toUsageError(error: unknown): unknown {
  if (!(error instanceof CliError)) return error
  return new CliError(error.message, { status: EXIT.usage, cause: error })
}

function usage(message: string): CliError {
  return new CliError(`${message}. See 'mx api --help'`, { status: EXIT.usage })
}
