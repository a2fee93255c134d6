import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { CliError } from '../ui/output.ts'
import type { StoredRecord, Table } from './records.ts'

/*
 * A snapshot consists of JSON lines: a header, one line per record, and a footer with the number of records and the
 * SHA-256 of all preceding bytes. Truncated and modified snapshots are detected before they are used.
 */

const NAME = 'mx store'
const VERSION = 1
const LINE_FEED = 0x0a
/** Maximum line length; a store record takes at most about 1.5 MiB in Base64. */
const MAX_LINE_BYTES = 16 * 1024 * 1024

/** A line of a snapshot. */
export interface SnapshotRecord extends Table {
  readonly key: string
  /** Base64. */
  readonly value: string
  /** Unix time in seconds; 0 for never. */
  readonly expires: number
  readonly metadata: StoredRecord['metadata']
}

/** Formats the lines of a snapshot. */
export interface SnapshotLines {
  readonly header: () => string
  readonly record: (record: SnapshotRecord) => string
  readonly footer: () => string
}

export function createSnapshotLines(now: Date): SnapshotLines {
  const hash = createHash('sha256')
  let records = 0
  const toLine = (value: object): string => {
    const line = `${JSON.stringify(value)}\n`
    hash.update(line)
    return line
  }
  return {
    header: () => toLine({ snapshot: NAME, version: VERSION, created: now.toISOString() }),
    record(record) {
      records++
      return toLine(record)
    },
    footer: () => `${JSON.stringify({ records, sha256: hash.digest('hex') })}\n`,
  }
}

/** Contents of a snapshot. */
export interface SnapshotSummary {
  readonly records: number
  readonly databases: ReadonlySet<string>
}

/** Verifies a snapshot. @throws {CliError} if it is damaged */
export async function checkSnapshot(file: FileHandle): Promise<SnapshotSummary> {
  const hash = createHash('sha256')
  const databases = new Set<string>()
  let records = -1
  let last: Buffer | undefined
  for await (const line of readLines(file)) {
    if (last === undefined) checkHeader(line)
    else {
      if (records >= 0) databases.add(checkRecord(last, records + 1).database)
      hash.update(last).update('\n')
      records++
    }
    last = line
  }
  if (last === undefined) throw notSnapshot()
  const footer = parse(last)
  if (records === -1 || typeof footer?.['sha256'] !== 'string')
    throw damaged('its footer is missing')
  if (footer['records'] !== records)
    throw damaged(`expected ${footer['records']} records, got ${records}`)
  if (footer['sha256'] !== hash.digest('hex')) throw damaged('its checksum does not match')
  return { records, databases }
}

/** Reads the records of a verified snapshot. */
export async function* readSnapshot(
  file: FileHandle,
  records: number,
): AsyncGenerator<SnapshotRecord, void, undefined> {
  let i = -1
  for await (const line of readLines(file)) {
    if (++i > records) return
    if (i > 0) yield JSON.parse(String(line))
  }
}

function checkHeader(line: Buffer): void {
  const { snapshot, version } = parse(line) ?? {}
  if (snapshot !== NAME) throw notSnapshot()
  if (version !== VERSION)
    throw new CliError(`unsupported snapshot version ${version}, expected version ${VERSION}`)
}

function checkRecord(line: Buffer, number: number): SnapshotRecord {
  const record = parse(line) ?? {}
  const { database, table, key, value, expires, metadata } = record
  const areTexts = [database, table, key, value].every((part) => typeof part === 'string')
  const isRecord = areTexts && Number.isInteger(expires) && typeof metadata === 'object'
  if (!isRecord) throw damaged(`record ${number} is invalid`)
  return record as unknown as SnapshotRecord
}

/** Parses a line; undefined if it is not an object. */
function parse(line: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(String(line))
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function notSnapshot(): CliError {
  return new CliError('not a snapshot of mx store; nothing was written')
}

function damaged(reason: string): CliError {
  return new CliError(`the snapshot is damaged: ${reason}; nothing was written`)
}

/** Reads the lines of a file from its start, without line feeds. @throws {CliError} if the last line is incomplete */
async function* readLines(file: FileHandle): AsyncGenerator<Buffer, void, undefined> {
  let parts: Buffer[] = []
  let bytes = 0
  let isFirst = true
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false })) {
    let remaining = chunk as Buffer
    for (let at = remaining.indexOf(LINE_FEED); at >= 0; at = remaining.indexOf(LINE_FEED)) {
      yield Buffer.concat([...parts, remaining.subarray(0, at)])
      isFirst = false
      remaining = remaining.subarray(at + 1)
      parts = []
      bytes = 0
    }
    parts.push(remaining)
    bytes += remaining.length
    if (bytes > MAX_LINE_BYTES) throw isFirst ? notSnapshot() : damaged('a line is too long')
  }
  if (bytes > 0) throw isFirst ? notSnapshot() : damaged('its last line is incomplete')
}
