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

/** What of the store; where nothing is said all tables of the namespace. */
export interface SnapshotScope {
  readonly database: string | undefined
  readonly table: string | undefined
  /** All databases. */
  readonly all: boolean | undefined
}

interface Output {
  readonly write: (text: string) => Maybe<void>
  /** It is whole. */
  readonly finish: () => void
  /** Nothing of it is left. */
  readonly discard: () => void
}

const STANDARD_OUTPUT = '-'
/** Characters that are written at once. */
const BLOCK = 256 * 1024

/**
 * Writes records to a file, which is there when all of them are in it, or to standard output.
 *
 * @param file a path or a `file:` URL. @default `MX_SNAPSHOT_DESTINATION`, else standard output, unless that is a terminal
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
    return 'the snapshot was given up, and nothing is left of it'
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
    throw usage('--all is everything: leave --database and --table out')
  const databases = all
    ? await listNames(session, 'databases', {})
    : [database || session.namespace]
  const tables: Table[] = []
  for (const database of databases) {
    const names = await listNames(session, 'tables', { database })
    if (table && !names.includes(table))
      throw new CliError(`not found: the table ${table} of ${database} has no records`)
    const wanted = table ? [table] : names
    tables.push(...wanted.map((name) => ({ database, table: name })))
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
    // Of the tables of a database those of built-in services are theirs alone.
    if (scope.table !== undefined || !isReserved(error)) throw error
  }
}

function isReserved(error: unknown): boolean {
  const cause = error instanceof CliError ? error.cause : undefined
  return cause instanceof GatewayError && cause.code === 403
}

function toDestination(given = process.env['MX_SNAPSHOT_DESTINATION']): string {
  const path = given || (process.stdout.isTTY ? '' : STANDARD_OUTPUT)
  if (path === '') throw usage('where to is missing: a file, or - for standard output')
  return path.startsWith('file:') ? fileURLToPath(path) : path
}

function openFile(path: string): Output {
  const draft = `${path}.${randomUUID()}`
  const orTell = <R>(work: () => R): R => {
    try {
      return work()
    } catch (cause) {
      const why = (cause as Error).message.replaceAll(draft, path)
      throw new CliError(`${path} cannot be written: ${why}`, { cause })
    }
  }
  const descriptor = orTell(() => {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
      throw new Error(`it is no file; ${STANDARD_OUTPUT} is standard output`)
    return openSync(draft, 'wx', 0o600)
  })
  return {
    write: (text) => orTell(() => writeFileSync(descriptor, text)),
    finish: () =>
      orTell(() => {
        fsyncSync(descriptor)
        closeSync(descriptor)
        renameSync(draft, path)
      }),
    discard: () => rmSync(draft, { force: true }),
  }
}

function openStandardOutput(): Output {
  // Whoever reads is gone: what it has got has no end.
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
