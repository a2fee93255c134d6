import type { HeaderList } from '../../http/headers.ts'

/** Default maximum of a WebSocket message, in bytes. */
export const MESSAGE_MAX_BYTES: number = 16 * 1024 * 1024

/** Options of `Exchange.accept`. */
export interface AcceptOptions {
  /** Subprotocol of the receiver. Selected if the client offers it (RFC 6455 §4.2.2). */
  readonly protocol?: string
  /** Response headers; the exchange takes ownership of the list. */
  readonly headers?: HeaderList
  /** Longest message in either direction, in bytes, then 1009. At most the limit of the listener. @default 16777216 */
  readonly maxMessageBytes?: number
}

/**
 * A client's WebSocket that this process accepted (RFC 6455); see `Exchange.accept`. Pings get a pong, and silent clients are sent a
 * ping, automatically.
 */
export interface ServerSocket {
  /** Bytes buffered for the client, including framing. */
  readonly bufferedBytes: number
  /**
   * Sends a message. Memory of `data` may be reused after the call; bytes sent as text must be UTF-8.
   *
   * False: too many bytes are buffered, or the WebSocket has ended; wait for `onDrain`. Otherwise the WebSocket is closed with 1013 before
   * more than the longest message and 1 MiB are buffered.
   */
  send(data: string | Uint8Array, binary: boolean): boolean
  /** {@link send} for several messages, with as few writes as the library allows. */
  sendAll(messages: readonly Uint8Array[], binary: boolean): boolean
  /**
   * Closes the WebSocket; `onClose` is called with the same code before this returns. Earlier messages are still sent.
   *
   * @param code 1005: the close frame has no code.
   * @param reason at most 123 bytes of UTF-8; truncated beyond.
   * @throws {TypeError} for a code that must not be sent (RFC 6455 §7.4).
   */
  close(code: number, reason: string): void
  /** Cuts the connection; `onClose` is called with 1006 before this returns. */
  terminate(): void
  /**
   * Pauses reading and delivery of messages until {@link resume}. Messages that still arrive are buffered. Once the requests of the
   * process buffer too much together (`max_buffered`), the WebSocket that buffers most is closed with 1013: one of a client that sends
   * faster than this process reads, or of any sending client if the library of the listener `uws` cannot pause it (versions other
   * than 20.51).
   *
   * A disconnect may be noticed only after resuming. A WebSocket that is paused for a minute is closed with 1013.
   */
  pause(): void
  /** Resumes after {@link pause}. Buffered messages are delivered after the call. */
  resume(): void
}

/** Receiver of a client's messages. Its functions must not throw; none is called before `Exchange.accept` has returned. */
export interface SocketReceiver {
  /** A complete message; `data` is valid during the call only. Text is UTF-8. */
  readonly onMessage: (data: Uint8Array, binary: boolean) => void
  /** {@link ServerSocket.send} may continue after it returned false. */
  readonly onDrain: () => void
  /**
   * The WebSocket has ended, on either side; always called once, and last.
   *
   * @param code 1005: a close frame without a code; 1006: no close frame.
   */
  readonly onClose: (code: number, reason: string) => void
}
