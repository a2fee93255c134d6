import type { HeaderList } from '../../http/headers.ts'

/** Longest WebSocket message where nothing else is said, in bytes. */
export const MESSAGE_MAX_BYTES: number = 16 * 1024 * 1024

/** What `Exchange.accept` is told. */
export interface AcceptOptions {
  /** Subprotocol the receiver speaks. The answer names it where the client offered it; else it names none (RFC 6455 §4.2.2). */
  readonly protocol?: string
  /** Fields of the answer; the list becomes the exchange's own. */
  readonly headers?: HeaderList
  /** Longest message either way, in bytes, then 1009. Never more than the listener's own limit. @default 16777216 */
  readonly maxMessageBytes?: number
}

/**
 * A client's WebSocket that ends in this process (RFC 6455); see `Exchange.accept`. Pings are
 * answered, and clients that are silent are asked for a sign of life, without anybody's doing.
 */
export interface ServerSocket {
  /** Bytes that wait for the client: of messages, and what frames them. */
  readonly bufferedBytes: number
  /**
   * Sends a message. Memory of `data` may be reused after the call; bytes sent as text must be UTF-8.
   *
   * False: more waits than should, or the WebSocket is over; hold back until `onDrain`. A sender that
   * does not is ended with 1013 before more than the longest message and 1 MiB wait.
   */
  send(data: string | Uint8Array, binary: boolean): boolean
  /** {@link send} for several messages, with as few writes to the connection as the library allows. */
  sendAll(messages: readonly Uint8Array[], binary: boolean): boolean
  /**
   * Ends the WebSocket; `onClose` is called with the same code before this returns. What was sent
   * before still goes out.
   *
   * @param code 1005: none is sent.
   * @param reason at most 123 bytes of UTF-8; what is longer is cut.
   * @throws {TypeError} when the code is none that may be sent (RFC 6455 §7.4).
   */
  close(code: number, reason: string): void
  /** Cuts the connection; `onClose` is called with 1006 before this returns. */
  terminate(): void
  /**
   * Delivers no more messages until {@link resume}, and reads none. Those that arrive all the same are buffered. Once the requests
   * of the process buffer too much together (`max_buffered`), the WebSocket that buffers most is closed with 1013: one of a
   * client that sends faster than this process reads, or of any that goes on sending where the library below the listener
   * `uws` cannot pause it (versions other than 20.51).
   *
   * That the client leaves may be noticed only then. One held back for a minute on end is given up with 1013.
   */
  pause(): void
  /** Reads on after {@link pause}. What waits here is delivered after the call. */
  resume(): void
}

/** Who a client's messages are for. None of the functions may throw, and none is called before `Exchange.accept` has returned. */
export interface SocketReceiver {
  /** A whole message, fragments put together; `data` is valid during the call only. Text is UTF-8. */
  readonly onMessage: (data: Uint8Array, binary: boolean) => void
  /** {@link ServerSocket.send} may go on after it returned false. */
  readonly onDrain: () => void
  /**
   * The WebSocket is over, whoever ended it; called once, always, and last.
   *
   * @param code 1005: a close frame without a code; 1006: no close frame.
   */
  readonly onClose: (code: number, reason: string) => void
}
