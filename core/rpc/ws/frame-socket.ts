/** One end of a WebSocket that carries frames. A server's is a `ServerSocket`; the events go to a `SocketReceiver`. */
export interface FrameSocket {
  /** Bytes that wait for the other end. */
  readonly bufferedBytes: number
  /** Sends a message; its memory may be reused after the call. False: hold back until the receiver's `onDrain`, which never comes during the call. */
  send(bytes: Uint8Array, binary: boolean): boolean
  /** Ends the WebSocket; what was sent before still goes out. */
  close(code: number, reason: string): void
  /** Cuts the connection. */
  terminate(): void
  /** Reads no more messages until {@link resume}. */
  pause(): void
  resume(): void
}
