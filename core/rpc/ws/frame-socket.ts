/** One end of a WebSocket that carries frames; on a server, a `ServerSocket`. Its events go to a `SocketReceiver`. */
export interface FrameSocket {
  /** Bytes buffered for the peer. */
  readonly bufferedBytes: number
  /**
   * Sends a message. Its memory may be reused after the call.
   *
   * @returns false if the caller must wait for the receiver's `onDrain`, which never runs during the call.
   */
  send(bytes: Uint8Array, binary: boolean): boolean
  /** Closes the WebSocket after all earlier messages. */
  close(code: number, reason: string): void
  /** Immediately closes the connection. */
  terminate(): void
  /** Stops reading messages until {@link resume} is called. */
  pause(): void
  resume(): void
}
