import { createRequire } from 'node:module'
import type * as Library from 'ws'

// Loaded as CommonJS: an import would parse the files again to find their exports, which costs 40 ms and 5 MB in every
// program that calls services.
const library = createRequire(import.meta.url)('ws') as typeof Library

/** Client or server side of a WebSocket (RFC 6455). */
export const WebSocket: typeof Library.WebSocket = library.WebSocket
export type WebSocket = Library.WebSocket

/** Accepts WebSocket handshakes. */
export const WebSocketServer: typeof Library.WebSocketServer = library.WebSocketServer
