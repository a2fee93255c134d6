/** One end of a WebSocket that carries frames: on a server a `ServerSocket`. Its events go to a `SocketReceiver`. */
export interface FrameSocket {
  /** Bytes buffered for the peer. */
  readonly bufferedBytes: number
  /**
   * Sends a message; its memory may be reused after the call.
   *
   * @returns false: wait for the receiver's `onDrain`, which never runs during the call.
   */
  send(bytes: Uint8Array, binary: boolean): boolean
  /** Closes the WebSocket after the messages sent before. */
  close(code: number, reason: string): void
  /** Closes the connection at once. */
  terminate(): void
  /** Stops reading messages until {@link resume}. */
  pause(): void
  resume(): void
}
