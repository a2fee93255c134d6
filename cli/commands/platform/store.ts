import { collect } from '../../../lib/async/collect.ts'
import { formatSpan } from '../../../lib/text/units.ts'
import type { FlagsOf } from '../../args/args.ts'
import { parseCount } from '../../args/count.ts'
import { parseExpiry } from '../../args/expiry.ts'
import { readBytes } from '../../args/input.ts'
import { type Command, defineCommand } from '../../command.ts'
import { isNotFound, type Session, sessionFlags, withSession } from '../../session/session.ts'
import {
  listNames,
  type ReadRequest,
  readRecords,
  type StoredRecord,
  type Table,
} from '../../store/records.ts'
import { toCell, toField } from '../../ui/bytes.ts'
import { print, printDone, toFormat } from '../../ui/format.ts'
import { CliError, usageError } from '../../ui/output.ts'
import { printStream } from '../../ui/print-stream.ts'
import { formatTable } from '../../ui/table.ts'

const FLAGS = {
  '-d, --database <name>': 'Database (default: the namespace)',
  '-t, --table <name>': 'Table; each service uses the table with its name (default: mx)',
  '-p, --prefix [text]': 'read, list: key prefix; without a value, the key argument is the prefix',
  '--suffix [text]': 'read, list: key suffix; without a value, the key argument is the suffix',
  '--from <key>': 'read, list: first key, inclusive',
  '--to <key>': 'read, list: last key, exclusive',
  '-l, --limit <n>': 'read, list: maximum number of records',
  '--offset <n>': 'read, list: number of records to skip',
  '--order <asc|desc>': 'read, list: key order (default: asc)',
  '-e, --expiry <duration>': 'write: time until the record expires, such as 10m (default: never)',
  '-v, --verbose': 'read: show keys and expiry',
  '--destination <file>': 'snapshot: alias of the argument',
  '--source <file>': 'restore: alias of the argument',
  '--all': 'snapshot: all databases (default: database of the namespace)',
  '-o, --output <format>': 'text, json or yaml; for read also raw (default: text)',
  ...sessionFlags('Namespace'),
}
type StoreFlags = FlagsOf<typeof FLAGS>

/** Expiry of a record that never expires (reference 4). */
const NEVER = 'None'

const command: Command = defineCommand({
  name: 'store',
  description: 'Read and write store records',
  sharesServiceName: true,
  flags: FLAGS,
  examples: [
    `mx store write -t helloworld user/1 '{"name":"Ann"}'`,
    'mx store read -t helloworld --prefix user/',
    'mx store write -t helloworld logo @logo.png --expiry=1h',
    'mx store snapshot backup.jsonl',
  ],
  subcommands: {
    'read [key]': ([key], flags) =>
      withSession(flags, async (session) => {
        const isRaw = flags.output === 'raw'
        const format = isRaw ? 'text' : toFormat(flags)
        const records = readRecords(session, toRead(key, flags, session))
        try {
          if (format === 'text' && !flags.verbose) {
            const end = Buffer.from(isRaw ? '' : '\n')
            await printStream(records, ({ value }) => Buffer.concat([toBytes(value), end]))
          } else {
            const all = await collect(records)
            await print(format, all.map(toDocument), formatRecords(all))
          }
        } catch (error) {
          throw isNotFound(error) ? new CliError(error.message, { cause: error }) : error
        }
      }),
    list: (_, flags) =>
      withSession(flags, async (session) => {
        const format = toFormat(flags)
        const { options } = toRead(undefined, { ...flags, prefix: flags.prefix ?? '' }, session)
        const pages = session.stream<{ keys: string[] }>('store', 'Store.List', { options })
        if (format === 'text')
          return printStream(pages, ({ keys }) => keys.map((key) => `${key}\n`).join(''))
        const all = await collect(pages)
        await print(
          format,
          all.flatMap(({ keys }) => keys),
          '',
        )
      }),
    'write <key> <value>': ([key, input], flags) =>
      withSession(flags, async (session) => {
        const format = toFormat(flags)
        const value = (await readBytes(input)).toString('base64')
        const record = { key, value, expiry: toExpiry(flags.expiry) }
        await session.call('store', 'Store.Write', { record, options: toTable(flags, session) })
        await printDone(format, { key }, `${key} was written`)
      }),
    'delete <key>...': (keys, flags) =>
      withSession(flags, async (session) => {
        const format = toFormat(flags)
        const options = toTable(flags, session)
        for (const key of keys) await session.call('store', 'Store.Delete', { key, options })
        const were = keys.length === 1 ? 'was' : 'were'
        await printDone(format, { keys }, `${keys.join(', ')} ${were} deleted`)
      }),
    databases: (_, flags) =>
      withSession(flags, async (session) =>
        printNames(flags, await listNames(session, 'databases', {})),
      ),
    tables: (_, flags) =>
      withSession(flags, async (session) => {
        const { database } = toTable(flags, session)
        await printNames(flags, await listNames(session, 'tables', { database }))
      }),
    'snapshot [file]': ([file], flags) =>
      withSession(flags, async (session) => {
        const { takeSnapshot } = await import('../../store/snapshot.ts')
        const { database, table, all } = flags
        const format = toFormat(flags)
        const scope = { database, table, all }
        await takeSnapshot(session, file ?? flags.destination, scope, format)
      }),
    'restore [file]': ([file], flags) =>
      withSession(flags, async (session) => {
        const { restoreSnapshot } = await import('../../store/restore.ts')
        const { database, table } = flags
        const format = toFormat(flags)
        await restoreSnapshot(session, file ?? flags.source, { database, table }, format)
      }),
  },
})

export default command

function toTable({ database, table = '' }: StoreFlags, { namespace }: Session): Table {
  return { database: database || namespace, table }
}

/** @param key key, or the prefix or suffix if `--prefix` or `--suffix` has no value */
function toRead(key: string | undefined, flags: StoreFlags, session: Session): ReadRequest {
  const { prefix, suffix, from, to, order } = flags
  if (key === undefined && [prefix, suffix, from, to].every((flag) => flag === undefined))
    throw usageError('store', 'a key, --prefix, --suffix, --from or --to is required')
  if (order !== undefined && order !== 'asc' && order !== 'desc')
    throw usageError('store', `Invalid order: ${order}, must be asc or desc`)
  const toPart = (text: string): string | true => (text === '' && key !== undefined ? true : text)
  return {
    ...(key !== undefined && { key }),
    options: {
      ...toTable(flags, session),
      ...(prefix !== undefined && { prefix: toPart(prefix) }),
      ...(suffix !== undefined && { suffix: toPart(suffix) }),
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
      ...(order !== undefined && { order }),
      limit: parseCount(flags.limit, 'limit'),
      offset: parseCount(flags.offset, 'offset'),
    },
  }
}

/** Expiry in seconds; 0 for never. */
function toExpiry(text = 'none'): number {
  const seconds = parseExpiry(text)
  return Number.isFinite(seconds) ? seconds : 0
}

function toDocument({ key, value, expiry, metadata, version }: StoredRecord): object {
  return { key, ...toField('value', toBytes(value)), expiry, metadata, version }
}

function formatRecords(records: readonly StoredRecord[]): string {
  const rows = records.map(({ key, value, expiry }) => [
    toCell(Buffer.from(key)),
    toCell(toBytes(value)),
    expiry === 0 ? NEVER : formatSpan(expiry),
  ])
  return formatTable([['KEY', 'VALUE', 'EXPIRY'], ...rows], 0)
}

async function printNames(flags: StoreFlags, names: readonly string[]): Promise<void> {
  await print(toFormat(flags), names, names.map((name) => `${name}\n`).join(''))
}

function toBytes(base64: string): Buffer {
  return Buffer.from(base64, 'base64')
}
