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

/** What of a snapshot, and where to. */
export interface RestoreScope {
  /** In place of that the records were in. @default theirs */
  readonly database: string | undefined
  /** Records of this table alone. @default all */
  readonly table: string | undefined
}

const STANDARD_INPUT = '-'
/** Records that are on their way at a time. */
const AT_ONCE = 32

/**
 * Writes the records of a snapshot that is whole, over those of the same keys.
 *
 * @param file a path or a `file:` URL. @default standard input, unless that is a terminal
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
      ? 'given up: nothing was written'
      : `given up: ${countRecords(written)} written, restore again for the rest`
  })
  try {
    input = await openInput(draft, file)
    steps.show('checking the snapshot')
    const { records, databases } = await checkSnapshot(input)
    if (database !== undefined && databases.size > 1)
      throw new CliError(
        `--database is where one goes, and there are ${databases.size}: ${[...databases].join(', ')}; nothing was written`,
        { status: EXIT.usage },
      )
    let ended = 0
    const write = async (record: SnapshotRecord): Promise<void> => {
      if (table !== undefined && record.table !== table) return
      const request = toRequest(record, database)
      if (request === undefined) {
        ended++
        return
      }
      await session.call('store', 'Store.Write', request)
      written++
      if (written % AT_ONCE === 0) steps.show(`${written} of ${records} records`)
    }
    await forEach(readSnapshot(input, records), write, () => written)
    steps.end()
    const from = file === undefined || file === STANDARD_INPUT ? '' : ` from ${file}`
    const left = ended === 0 ? '' : `, ${ended} had ended`
    const done = { records: written, ended }
    await printDone(format, done, `${countRecords(written)} restored${from}${left}`)
  } finally {
    steps.end()
    await input?.close()
    discard()
    stop()
  }
}

/** Undefined: it has ended by now. */
function toRequest(
  { database: own, table, key, value, expires, metadata }: SnapshotRecord,
  database = own,
): object | undefined {
  const now = Math.floor(Date.now() / 1000)
  if (expires !== 0 && expires <= now) return undefined
  const expiry = expires === 0 ? 0 : expires - now
  return { record: { key, value, expiry, metadata }, options: { database, table } }
}

/** Some at a time; the first that fails ends it, once those under way have ended. */
async function forEach(
  records: AsyncIterable<SnapshotRecord>,
  write: (record: SnapshotRecord) => Promise<void>,
  count: () => number,
): Promise<void> {
  const under = new Set<Promise<void>>()
  const failures: unknown[] = []
  for await (const record of records) {
    const work = write(record)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => under.delete(work))
    under.add(work)
    if (under.size >= AT_ONCE) await Promise.race(under)
    if (failures.length > 0) break
  }
  await Promise.all(under)
  if (failures.length === 0) return
  const error = failures[0]
  if (!(error instanceof CliError)) throw error
  const { message, status } = error
  throw new CliError(`${message}; ${countRecords(count())} written before`, {
    status,
    cause: error,
  })
}

async function openInput(
  draft: string,
  given = process.stdin.isTTY ? '' : STANDARD_INPUT,
): Promise<FileHandle> {
  if (given === '')
    throw new CliError(
      `where from is missing: a file, or ${STANDARD_INPUT} for standard input. See 'mx store --help'`,
      { status: EXIT.usage },
    )
  if (given === STANDARD_INPUT) return keep(process.stdin, draft)
  const path = given.startsWith('file:') ? fileURLToPath(given) : given
  try {
    const file = await open(path)
    return (await file.stat()).isFile() ? file : keep(file.createReadStream(), draft)
  } catch (cause) {
    throw new CliError(`${path} cannot be read: ${(cause as Error).message}`, { cause })
  }
}

/** What comes but once as a file: it is checked before it is used, and so read twice. */
async function keep(stream: Readable, draft: string): Promise<FileHandle> {
  const file = await open(draft, 'wx+', 0o600)
  try {
    for await (const chunk of stream) await file.appendFile(chunk)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}
