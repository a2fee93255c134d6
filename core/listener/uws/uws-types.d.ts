/** The subset of the uWebSockets.js 20.51 API used by `listener.ts` and `websocket.ts`. */

export interface HttpRequest {
  getCaseSensitiveMethod(): string
  getUrl(): string
  /** Undefined if the target has no `?`. */
  getQuery(): string | undefined
  forEach(callback: (name: string, value: string) => void): void
}

export interface HttpResponse {
  onAborted(callback: () => void): void
  onData(callback: (chunk: ArrayBuffer, last: boolean) => void): void
  onWritable(callback: (offset: number) => boolean): void
  cork(callback: () => void): void
  writeStatus(status: string | Uint8Array): void
  writeHeader(name: string, value: string | Uint8Array): void
  write(chunk: string | Uint8Array): boolean
  tryEnd(chunk: string | Uint8Array, total: number): [ok: boolean, done: boolean]
  end(body?: string | Uint8Array, closeConnection?: boolean): void
  endWithoutBody(): void
  getWriteOffset(): number
  /** Since 20.52: sends the head of a chunked response before its first chunk. */
  beginWrite?(): void
  close(): void
  pause(this: HttpResponse | WebSocket): void
  resume(this: HttpResponse | WebSocket): void
  /** 4 or 16 bytes in network byte order; empty for a Unix socket. */
  getRemoteAddress(): ArrayBuffer
  upgrade(
    data: unknown,
    key: string,
    protocol: string,
    extensions: string,
    context: SocketContext,
  ): void
}

/** Passed from an upgrade request to `HttpResponse.upgrade`. */
export type SocketContext = object

export interface WebSocket {
  getUserData(): unknown
  /** Returns 0 if back-pressure has built up, 1 if sent, 2 if dropped. */
  send(message: string | Uint8Array, binary: boolean, compress?: boolean): number
  getBufferedAmount(): number
  cork(callback: () => void): void
  ping(message?: string | Uint8Array): number
  end(code?: number, reason?: string | Uint8Array): void
  close(): void
}

export interface WebSocketBehavior {
  maxPayloadLength?: number
  /** In seconds; 0 disables it. */
  idleTimeout?: number
  maxBackpressure?: number
  closeOnBackpressureLimit?: boolean
  sendPingsAutomatically?: boolean
  compression?: number
  upgrade?: (res: HttpResponse, req: HttpRequest, context: SocketContext) => void
  open?: (ws: WebSocket) => void
  message?: (ws: WebSocket, message: ArrayBuffer, binary: boolean) => void
  drain?: (ws: WebSocket) => void
  ping?: (ws: WebSocket, message: ArrayBuffer) => void
  pong?: (ws: WebSocket, message: ArrayBuffer) => void
  close?: (ws: WebSocket, code: number, reason: ArrayBuffer) => void
}

export type ListenSocket = object

export interface App {
  get(pattern: string, handler: (res: HttpResponse, req: HttpRequest) => void): App
  post(pattern: string, handler: (res: HttpResponse, req: HttpRequest) => void): App
  any(pattern: string, handler: (res: HttpResponse, req: HttpRequest) => void): App
  ws(pattern: string, behavior: WebSocketBehavior): App
  listen(
    host: string,
    port: number,
    options: number,
    callback: (socket: ListenSocket | false) => void,
  ): App
  /** Called with 1 for a new connection and -1 for an ended one. */
  filter(callback: (res: HttpResponse, count: number) => void): App
  close(): App
  addServerName(name: string, options: AppOptions): App
  removeServerName(name: string): App
  /** Called during a handshake for a name that was not added. */
  missingServerName(callback: (name: string) => void): App
  /** Returns the app. Routes added next apply to connections with this name. */
  domain(name: string): App
  /** Returns the argument for {@link App.addChildAppDescriptor} of an app of the same kind. */
  getDescriptor(): number
  /** Distributes new connections round-robin across the added apps. */
  addChildAppDescriptor(descriptor: number): App
  removeChildAppDescriptor(descriptor: number): App
}

export interface AppOptions {
  cert_file_name?: string
  key_file_name?: string
  ssl_ciphers?: string
  ssl_prefer_low_memory_usage?: boolean
}

export interface Uws {
  App(): App
  SSLApp(options: AppOptions): App
  us_listen_socket_close(socket: ListenSocket): void
  us_socket_local_port(socket: ListenSocket): number
  _cfg(option: string): void
}
