import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  closeSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { fileURLToPath } from 'node:url'
import { GatewayError } from '../../core/errors.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { onInterrupt } from '../interrupt.ts'
import type { Session } from '../session/session.ts'
import { type Format, printDone } from '../ui/format.ts'
import { CliError, EXIT } from '../ui/output.ts'
import { openSteps } from '../ui/progress.ts'
import { countRecords, listNames, readRecords, type Table } from './records.ts'
import { createSnapshotLines } from './snapshot-file.ts'

/** Part of the store to write. @default all tables of the namespace */
export interface SnapshotScope {
  readonly database: string | undefined
  readonly table: string | undefined
  /** True to write all databases. */
  readonly all: boolean | undefined
}

interface Output {
  readonly write: (text: string) => Maybe<void>
  readonly finish: () => void
  /** Deletes an incomplete file. */
  readonly discard: () => void
}

const STANDARD_OUTPUT = '-'
/** Number of characters per write. */
const BLOCK = 256 * 1024

/**
 * Writes records to standard output, or to a file that appears only when it is complete.
 *
 * @param file a path or a `file:` URL. @default `MX_SNAPSHOT_DESTINATION`, else standard output, unless it is a
 * terminal
 * @throws {CliError}
 */
export async function takeSnapshot(
  session: Session,
  file: string | undefined,
  scope: SnapshotScope,
  format: Format,
): Promise<void> {
  const path = toDestination(file)
  const tables = await listTables(session, scope)
  const steps = await openSteps()
  let output: Output | undefined
  const stop = onInterrupt(() => {
    output?.discard()
    return 'canceled: no snapshot was written'
  })
  try {
    output = path === STANDARD_OUTPUT ? openStandardOutput() : openFile(path)
    const lines = createSnapshotLines(new Date())
    let text = lines.header()
    let records = 0
    for (const table of tables) {
      for await (const record of read(session, table, scope)) {
        text += lines.record(record)
        records++
        if (text.length < BLOCK) continue
        await output.write(text)
        text = ''
        steps.show(countRecords(records))
      }
    }
    await output.write(text + lines.footer())
    output.finish()
    steps.end()
    if (path !== STANDARD_OUTPUT)
      await printDone(
        format,
        { file: path, records },
        `${countRecords(records)} written to ${path}`,
      )
  } catch (error) {
    output?.discard()
    throw error
  } finally {
    steps.end()
    stop()
  }
}

async function listTables(
  session: Session,
  { database, table, all }: SnapshotScope,
): Promise<readonly Table[]> {
  if (all && (database ?? table) !== undefined)
    throw usage('--all cannot be combined with --database and --table')
  const databases = all
    ? await listNames(session, 'databases', {})
    : [database || session.namespace]
  const tables: Table[] = []
  for (const database of databases) {
    const names = await listNames(session, 'tables', { database })
    if (table && !names.includes(table))
      throw new CliError(`not found: the table ${table} of ${database} has no records`)
    const selected = table ? [table] : names
    tables.push(...selected.map((name) => ({ database, table: name })))
  }
  return tables
}

async function* read(session: Session, { database, table }: Table, scope: SnapshotScope) {
  const options = { database, table, prefix: '', limit: 0, offset: 0 }
  try {
    for await (const { key, value, expiry, metadata } of readRecords(session, { options })) {
      const expires = expiry === 0 ? 0 : Math.ceil(Date.now() / 1000) + expiry
      yield { database, table, key, value, expires, metadata }
    }
  } catch (error) {
    // Tables of built-in services are skipped, because other callers cannot read them.
    if (scope.table !== undefined || !isReserved(error)) throw error
  }
}

function isReserved(error: unknown): boolean {
  const cause = error instanceof CliError ? error.cause : undefined
  return cause instanceof GatewayError && cause.code === 403
}

function toDestination(file = process.env['MX_SNAPSHOT_DESTINATION']): string {
  const path = file || (process.stdout.isTTY ? '' : STANDARD_OUTPUT)
  if (path === '') throw usage('a destination is missing: a file, or - for standard output')
  return path.startsWith('file:') ? fileURLToPath(path) : path
}

function openFile(path: string): Output {
  const draft = `${path}.${randomUUID()}`
  const explained = <R>(work: () => R): R => {
    try {
      return work()
    } catch (cause) {
      const reason = (cause as Error).message.replaceAll(draft, path)
      throw new CliError(`${path} cannot be written: ${reason}`, { cause })
    }
  }
  const descriptor = explained(() => {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
      throw new Error(`not a file; use ${STANDARD_OUTPUT} for standard output`)
    return openSync(draft, 'wx', 0o600)
  })
  return {
    write: (text) => explained(() => writeFileSync(descriptor, text)),
    finish: () =>
      explained(() => {
        fsyncSync(descriptor)
        closeSync(descriptor)
        renameSync(draft, path)
      }),
    discard: () => rmSync(draft, { force: true }),
  }
}

function openStandardOutput(): Output {
  // An incomplete snapshot has already been written to the reader.
  process.stdout.prependListener('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(EXIT.failed)
  })
  return {
    async write(text) {
      if (!process.stdout.write(text)) await once(process.stdout, 'drain')
    },
    finish() {},
    discard() {},
  }
}

function usage(message: string): CliError {
  return new CliError(`${message}. See 'mx store --help'`, { status: EXIT.usage })
}
