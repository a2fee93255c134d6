import type { HeaderList } from '../../http/headers.ts'

/** Default maximum size of a WebSocket message, in bytes. */
export const MESSAGE_MAX_BYTES: number = 16 * 1024 * 1024

/** Options of `Exchange.accept`. */
export interface AcceptOptions {
  /** Subprotocol of the receiver, selected if the client offers it (RFC 6455 §4.2.2). */
  readonly protocol?: string
  /** Response headers. The exchange takes ownership of the list. */
  readonly headers?: HeaderList
  /**
   * Maximum message size in either direction, in bytes; larger messages close the WebSocket with 1009. At most the
   * limit of the listener. @default 16777216
   */
  readonly maxMessageBytes?: number
}

/**
 * A client's WebSocket that this process accepted (RFC 6455); see `Exchange.accept`. Pings are answered automatically,
 * and silent clients receive pings.
 */
export interface ServerSocket {
  /** Bytes buffered for the client, including framing. */
  readonly bufferedBytes: number
  /**
   * Sends a message. The memory of `data` may be reused after the call. Bytes sent as text must be UTF-8.
   *
   * Returns false if too many bytes are buffered or the WebSocket has ended; the caller must wait for `onDrain`. If the
   * caller does not wait, the WebSocket is closed with 1013 before more than the maximum message size plus 1 MiB are
   * buffered.
   */
  send(data: string | Uint8Array, binary: boolean): boolean
  /** Like {@link send}, for several messages, with as few writes as the library allows. */
  sendAll(messages: readonly Uint8Array[], binary: boolean): boolean
  /**
   * Closes the WebSocket. `onClose` is called with the same code before the method returns. Earlier messages are still
   * sent.
   *
   * @param code 1005 sends a close frame without a code.
   * @param reason at most 123 bytes of UTF-8; longer reasons are truncated.
   * @throws {TypeError} if the code must not be sent (RFC 6455 §7.4).
   */
  close(code: number, reason: string): void
  /** Closes the connection without a close frame. `onClose` is called with 1006 before the method returns. */
  terminate(): void
  /**
   * Pauses reading and delivery of messages until {@link resume} is called. Messages that still arrive are buffered. If
   * all requests of the process buffer too much (`max_buffered`), the WebSocket with the most buffered bytes is closed
   * with 1013. Only a client that sends faster than this process reads is affected, or any sending client if the
   * library of the `uws` listener cannot pause it (versions other than 20.51).
   *
   * A disconnect may only be detected after resuming. A WebSocket that is paused for a minute is closed with 1013.
   */
  pause(): void
  /** Resumes reading after {@link pause}. Buffered messages are delivered after the call. */
  resume(): void
}

/**
 * Receiver of a client's messages. Its functions must not throw. None is called before `Exchange.accept` has returned.
 */
export interface SocketReceiver {
  /** Called with a complete message; `data` is only valid during the call. Text is UTF-8. */
  readonly onMessage: (data: Uint8Array, binary: boolean) => void
  /** Called when {@link ServerSocket.send} may continue after it returned false. */
  readonly onDrain: () => void
  /**
   * Called exactly once, as the last function, when the WebSocket has ended on either side.
   *
   * @param code 1005 for a close frame without a code, 1006 without a close frame.
   */
  readonly onClose: (code: number, reason: string) => void
}
