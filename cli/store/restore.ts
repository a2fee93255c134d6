import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { onInterrupt } from '../interrupt.ts'
import type { Session } from '../session/session.ts'
import { type Format, printDone } from '../ui/format.ts'
import { CliError, EXIT } from '../ui/output.ts'
import { openSteps } from '../ui/progress.ts'
import { countRecords } from './records.ts'
import { checkSnapshot, readSnapshot, type SnapshotRecord } from './snapshot-file.ts'

/** Part of a snapshot to restore and its destination. */
export interface RestoreScope {
  /** Destination database. @default the database of each record */
  readonly database: string | undefined
  /** Restores only this table. @default all tables */
  readonly table: string | undefined
}

const STANDARD_INPUT = '-'
const CONCURRENCY = 32

/**
 * Restores the records of a valid snapshot, overwriting records with the same keys.
 *
 * @param file a path or a `file:` URL. @default standard input, unless it is a terminal
 * @throws {CliError}
 */
export async function restoreSnapshot(
  session: Session,
  file: string | undefined,
  { database, table }: RestoreScope,
  format: Format,
): Promise<void> {
  const steps = await openSteps()
  const draft = join(tmpdir(), `mx-restore-${randomUUID()}`)
  const discard = (): void => rmSync(draft, { force: true })
  let input: FileHandle | undefined
  let written = 0
  const stop = onInterrupt(() => {
    discard()
    return written === 0
      ? 'canceled: nothing was written'
      : `canceled: ${countRecords(written)} written; run the command again for the rest`
  })
  try {
    input = await openInput(draft, file)
    steps.show('checking the snapshot')
    const { records, databases } = await checkSnapshot(input)
    if (database !== undefined && databases.size > 1)
      throw new CliError(
        `--database requires a snapshot of one database, got ${databases.size}: ${[...databases].join(', ')}; nothing was written`,
        { status: EXIT.usage },
      )
    let expired = 0
    const write = async (record: SnapshotRecord): Promise<void> => {
      if (table !== undefined && record.table !== table) return
      const request = toRequest(record, database)
      if (request === undefined) {
        expired++
        return
      }
      await session.call('store', 'Store.Write', request)
      written++
      if (written % CONCURRENCY === 0) steps.show(`${written} of ${records} records`)
    }
    await forEach(readSnapshot(input, records), write, () => written)
    steps.end()
    const from = file === undefined || file === STANDARD_INPUT ? '' : ` from ${file}`
    const skipped = expired === 0 ? '' : `, ${expired} expired`
    const result = { records: written, ended: expired }
    await printDone(format, result, `${countRecords(written)} restored${from}${skipped}`)
  } finally {
    steps.end()
    await input?.close()
    discard()
    stop()
  }
}

/** Converts a record to a request; undefined if it has expired. */
function toRequest(
  { database: source, table, key, value, expires, metadata }: SnapshotRecord,
  database = source,
): object | undefined {
  const now = Math.floor(Date.now() / 1000)
  if (expires !== 0 && expires <= now) return undefined
  const expiry = expires === 0 ? 0 : expires - now
  return { record: { key, value, expiry, metadata }, options: { database, table } }
}

/** Writes records concurrently. Stops at the first failure, after the writes in flight have ended. */
async function forEach(
  records: AsyncIterable<SnapshotRecord>,
  write: (record: SnapshotRecord) => Promise<void>,
  count: () => number,
): Promise<void> {
  const inFlight = new Set<Promise<void>>()
  const failures: unknown[] = []
  for await (const record of records) {
    const work = write(record)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => inFlight.delete(work))
    inFlight.add(work)
    if (inFlight.size >= CONCURRENCY) await Promise.race(inFlight)
    if (failures.length > 0) break
  }
  await Promise.all(inFlight)
  if (failures.length === 0) return
  const error = failures[0]
  if (!(error instanceof CliError)) throw error
  const { message, status } = error
  throw new CliError(`${message}; ${countRecords(count())} written before the failure`, {
    status,
    cause: error,
  })
}

async function openInput(
  draft: string,
  file = process.stdin.isTTY ? '' : STANDARD_INPUT,
): Promise<FileHandle> {
  if (file === '')
    throw new CliError(
      `a source is missing: a file, or ${STANDARD_INPUT} for standard input. See 'mx store --help'`,
      { status: EXIT.usage },
    )
  if (file === STANDARD_INPUT) return buffer(process.stdin, draft)
  const path = file.startsWith('file:') ? fileURLToPath(file) : file
  try {
    const handle = await open(path)
    return (await handle.stat()).isFile() ? handle : buffer(handle.createReadStream(), draft)
  } catch (cause) {
    throw new CliError(`${path} cannot be read: ${(cause as Error).message}`, { cause })
  }
}

/** Copies a stream to a file, because a snapshot is read twice, for verification and for restoring. */
async function buffer(stream: Readable, draft: string): Promise<FileHandle> {
  const file = await open(draft, 'wx+', 0o600)
  try {
    for await (const chunk of stream) await file.appendFile(chunk)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}
