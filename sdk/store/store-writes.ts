import { GatewayError } from '../../core/errors.ts'
import { isStoreKey } from '../../domain/store/limits.ts'
import type { RecordInput } from './store-record.ts'

/** Has records written, all of them or none; resolves with the version of each. */
export type SendRecords = (records: readonly RecordInput[]) => Promise<readonly number[]>

/** Most records of a call: the service works on them without a pause. */
const MOST_RECORDS = 500
/** Characters of all values of a call. */
const MOST_LENGTH = 1024 * 1024
/** Of one of them. With a longer one the call is the least of it. */
const MOST_VALUE_LENGTH = 64 * 1024

/** Records of one call. */
class StoreCall {
  readonly records: RecordInput[] = []
  readonly #send: SendRecords
  readonly #keys = new Set<string>()
  #length = 0
  readonly #versions: Promise<readonly number[]>
  #resolve!: (versions: Promise<readonly number[]>) => void

  constructor(send: SendRecords) {
    this.#send = send
    this.#versions = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** Whether a record may go with those that are there: a call names a key once. */
  hasRoom({ key, value }: RecordInput): boolean {
    return (
      this.records.length < MOST_RECORDS &&
      this.#length + value.length <= MOST_LENGTH &&
      !this.#keys.has(key)
    )
  }

  /** @returns the version it is written with. */
  add(record: RecordInput): Promise<number> {
    const at = this.records.push(record) - 1
    this.#keys.add(record.key)
    this.#length += record.value.length
    return this.#versions.then(
      (versions) => versions[at]!,
      async (error) => {
        if (!this.#mayBeOf(error)) throw error
        const [version] = await this.#send([record])
        return version!
      },
    )
  }

  send(): void {
    this.#resolve(this.#send(this.records))
  }

  /**
   * Whether an error may be that of another record, whose value is more than this store takes, or of all being more than a call
   * may be: of such a call nothing is written.
   */
  #mayBeOf(error: unknown): boolean {
    if (!(error instanceof GatewayError) || this.records.length === 1) return false
    return error.code === 400 || error.code === 413
  }
}

/** What would be refused is a call of its own: others have nothing to do with it. */
function mayJoin({ key, value }: RecordInput): boolean {
  return value.length <= MOST_VALUE_LENGTH && isStoreKey(key)
}

/** Writes that are joined. */
export interface StoreWrites {
  /** @returns the version a record is written with. */
  readonly write: (record: RecordInput) => Promise<number>
  /** Begins what waits for the end of the turn: ahead of a call that may be about the same keys. */
  readonly flush: () => void
}

/**
 * Joins the records that are written in one turn of the event loop to calls, which begin in the order of the writes: most of what a small
 * write costs is its call.
 *
 * @param later calls back at the end of the turn.
 */
export function createStoreWrites(
  send: SendRecords,
  later: (begin: () => void) => void,
): StoreWrites {
  let call: StoreCall | undefined
  const flush = (): void => {
    const full = call
    call = undefined
    full?.send()
  }
  return {
    write(record) {
      const joins = mayJoin(record)
      if (call !== undefined && !(joins && call.hasRoom(record))) flush()
      if (call === undefined) {
        call = new StoreCall(send)
        if (joins) later(flush)
      }
      const version = call.add(record)
      if (!joins) flush()
      return version
    },
    flush,
  }
}
