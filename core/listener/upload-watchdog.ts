import { GATEWAY_ID, GatewayError } from '../errors.ts'
import { STALL_TIMEOUT_MS, UPLOAD_MIN_BYTES } from './limits.ts'

/** A request body that has not arrived completely. */
export interface WatchedUpload {
  /** Payload bytes of it that have arrived. */
  readonly bytesIn: number
  /** What becomes of it is of no interest any more. */
  readonly isOver: boolean
  /** It is for its client to send more of it, soon. */
  readonly isAwaited: boolean
  /** It was looked at, and goes on. Called every few seconds. */
  onLook?(): void
  /** Too little of it has come for too long. Called once, and nothing behind it. */
  giveUp(error: GatewayError): void
}

/** How far a body has come at the beginning of the time in which some more has to. */
interface Progress {
  bytes: number
  /** Looks since then. */
  looks: number
}

/** More often than µWebSockets gives up a connection, which it does after 8 s at the earliest. */
const LOOK_MS = 3000
/** Looks are counted, not time: after a stall of this process what has come is yet to be read. */
export const LOOKS: number = STALL_TIMEOUT_MS / LOOK_MS

/** Request bodies under way. They may take as long as they like, at a minimum pace. */
export class Uploads {
  readonly #progress = new Map<WatchedUpload, Progress>()
  #timer: NodeJS.Timeout | undefined = undefined

  get size(): number {
    return this.#progress.size
  }

  watch(upload: WatchedUpload): void {
    this.#progress.set(upload, { bytes: upload.bytesIn, looks: 0 })
    this.#timer ??= setInterval(() => this.look(), LOOK_MS).unref()
  }

  unwatch(upload: WatchedUpload): void {
    this.#progress.delete(upload)
  }

  /** Looks at all of them. Its own timer calls it. */
  look(): void {
    for (const [upload, progress] of this.#progress) {
      if (upload.isOver) this.#progress.delete(upload)
      else if (isFast(upload, progress)) upload.onLook?.()
      else {
        this.#progress.delete(upload)
        upload.giveUp(new GatewayError(GATEWAY_ID, 408, 'the request body comes too slowly'))
      }
    }
    if (this.#progress.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** Those of all listeners of this process. */
export const uploads: Uploads = new Uploads()

function isFast({ bytesIn, isAwaited }: WatchedUpload, progress: Progress): boolean {
  if (isAwaited && bytesIn - progress.bytes < UPLOAD_MIN_BYTES) return ++progress.looks <= LOOKS
  progress.bytes = bytesIn
  progress.looks = 0
  return true
}
