import { GatewayError } from '../../core/errors.ts'
import { isStoreKey } from '../../domain/store/limits.ts'
import type { RecordInput } from './store-record.ts'

/** Writes records atomically. Resolves with their versions. */
export type SendRecords = (records: readonly RecordInput[]) => Promise<readonly number[]>

/** Maximum number of records per call, because the service processes them without yielding. */
const RECORDS_MAX = 500
/** Maximum total length of the values in a call. */
const LENGTH_MAX = 1024 * 1024
/** Longer values are written individually, because batching would gain little. */
const VALUE_LENGTH_MAX = 64 * 1024

/** A call that writes a batch of records. */
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

  /** True if a record can be added. The keys of a call must be unique. */
  hasRoom({ key, value }: RecordInput): boolean {
    return (
      this.records.length < RECORDS_MAX &&
      this.#length + value.length <= LENGTH_MAX &&
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
        if (!this.#mayBeCausedByBatch(error)) throw error
        const [version] = await this.#send([record])
        return version!
      },
    )
  }

  send(): void {
    this.#resolve(this.#send(this.records))
  }

  /** True for an error that another record or the batch size may have caused. Nothing was written in that case. */
  #mayBeCausedByBatch(error: unknown): boolean {
    if (!(error instanceof GatewayError) || this.records.length === 1) return false
    return error.code === 400 || error.code === 413
  }
}

/** False for invalid records, which are sent individually so that they do not fail other records. */
function canBatch({ key, value }: RecordInput): boolean {
  return value.length <= VALUE_LENGTH_MAX && isStoreKey(key)
}

/** Writer that batches records. */
export interface StoreWrites {
  /** @returns the version of the record. */
  readonly write: (record: RecordInput) => Promise<number>
  /** Sends the pending writes before a call that may use the same keys. */
  readonly flush: () => void
}

/**
 * Batches the writes of a tick into calls, sent in order, because the call is most of the cost of a small write.
 *
 * @param schedule runs a callback at the end of the tick.
 */
export function createStoreWrites(
  send: SendRecords,
  schedule: (begin: () => void) => void,
): StoreWrites {
  let call: StoreCall | undefined
  const flush = (): void => {
    const full = call
    call = undefined
    full?.send()
  }
  return {
    write(record) {
      const joins = canBatch(record)
      if (call !== undefined && !(joins && call.hasRoom(record))) flush()
      if (call === undefined) {
        call = new StoreCall(send)
        if (joins) schedule(flush)
      }
      const version = call.add(record)
      if (!joins) flush()
      return version
    },
    flush,
  }
}
