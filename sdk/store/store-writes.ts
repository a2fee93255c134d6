import { GatewayError } from '../../core/errors.ts'
import { isStoreKey } from '../../domain/store/limits.ts'
import type { RecordInput } from './store-record.ts'

/** Writes records atomically; resolves with their versions. */
export type SendRecords = (records: readonly RecordInput[]) => Promise<readonly number[]>

/** Maximum records per call: the service processes them without a pause. */
const MOST_RECORDS = 500
/** Maximum total length of the values of a call. */
const MOST_LENGTH = 1024 * 1024
/** Longer values are written alone: batching would gain little. */
const MOST_VALUE_LENGTH = 64 * 1024

/** The records of a call. */
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

  /** True if a record can be added: keys of a call are unique. */
  hasRoom({ key, value }: RecordInput): boolean {
    return (
      this.records.length < MOST_RECORDS &&
      this.#length + value.length <= MOST_LENGTH &&
      !this.#keys.has(key)
    )
  }

  /** @returns the version of the record. */
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
   * True for an error that may be caused by another record or by the size of the batch, after which nothing was
   * written.
   */
  #mayBeOf(error: unknown): boolean {
    if (!(error instanceof GatewayError) || this.records.length === 1) return false
    return error.code === 400 || error.code === 413
  }
}

/** Invalid records are sent alone, so that they do not fail others. */
function mayJoin({ key, value }: RecordInput): boolean {
  return value.length <= MOST_VALUE_LENGTH && isStoreKey(key)
}

/** Batched writes. */
export interface StoreWrites {
  /** @returns the version of the record. */
  readonly write: (record: RecordInput) => Promise<number>
  /** Sends the pending writes before a call that may use the same keys. */
  readonly flush: () => void
}

/**
 * Batches the writes of a tick into calls, sent in order: most of the cost of a small write is its call.
 *
 * @param later runs a callback at the end of the tick.
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
