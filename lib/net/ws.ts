import { createRequire } from 'node:module'
import type * as Library from 'ws'

// The library `ws`, loaded as the CommonJS it is: imported, its files are parsed once more, for the names they export, and
// that costs 40 ms and 5 MB of every program that calls services.
const library = createRequire(import.meta.url)('ws') as typeof Library

/** Either end of a WebSocket (RFC 6455), as the library has it. */
export const WebSocket: typeof Library.WebSocket = library.WebSocket
export type WebSocket = Library.WebSocket

/** Makes WebSockets of connections that asked for one. */
export const WebSocketServer: typeof Library.WebSocketServer = library.WebSocketServer
