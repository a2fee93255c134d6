import { GATEWAY_ID, GatewayError } from '../errors.ts'
import { STALL_TIMEOUT_MS, UPLOAD_MIN_BYTES } from './limits.ts'

/** An incomplete request body. */
export interface WatchedUpload {
  /** Payload bytes received so far. */
  readonly bytesIn: number
  /** Whether nothing waits for the body any more. */
  readonly isDone: boolean
  /** Whether the client is expected to send more. */
  readonly isAwaited: boolean
  /** Called every few seconds, after each check that the body passes. */
  onCheck?(): void
  /** Called once, as the last method, if the body arrives too slowly. */
  abortWith(error: GatewayError): void
}

/** Bytes received at the start of the current interval, and checks since then. */
interface Progress {
  bytes: number
  checks: number
}

/** Shorter than the idle timeout of µWebSockets, which is at least 8 s. */
const CHECK_MS = 3000
/** Counts checks instead of time, because received bytes are still unread after a stall of this process. */
export const MAX_CHECKS: number = STALL_TIMEOUT_MS / CHECK_MS

/** Enforces a minimum rate on request bodies. The total time is not limited. */
export class UploadWatchdog {
  readonly #progress = new Map<WatchedUpload, Progress>()
  #timer: NodeJS.Timeout | undefined = undefined

  get size(): number {
    return this.#progress.size
  }

  watch(upload: WatchedUpload): void {
    this.#progress.set(upload, { bytes: upload.bytesIn, checks: 0 })
    this.#timer ??= setInterval(() => this.check(), CHECK_MS).unref()
  }

  unwatch(upload: WatchedUpload): void {
    this.#progress.delete(upload)
  }

  /** Checks all bodies. Called by the timer. */
  check(): void {
    for (const [upload, progress] of this.#progress) {
      if (upload.isDone) this.#progress.delete(upload)
      else if (isFast(upload, progress)) upload.onCheck?.()
      else {
        this.#progress.delete(upload)
        upload.abortWith(new GatewayError(GATEWAY_ID, 408, 'the request body arrives too slowly'))
      }
    }
    if (this.#progress.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** Request bodies of all listeners of this process. */
export const uploads: UploadWatchdog = new UploadWatchdog()

function isFast({ bytesIn, isAwaited }: WatchedUpload, progress: Progress): boolean {
  if (isAwaited && bytesIn - progress.bytes < UPLOAD_MIN_BYTES)
    return ++progress.checks <= MAX_CHECKS
  progress.bytes = bytesIn
  progress.checks = 0
  return true
}
