import { countOrAuto, SIZE, SIZE_OR_AUTO } from '../../../lib/values/amount.ts'
import type { SettingTable } from '../setting.ts'

export interface LimitSettings {
  readonly maxBodyBytes: number
  readonly maxMessageBytes: number
  readonly maxConnections: number | 'auto'
  readonly maxClientWebSockets: number | 'auto'
  readonly maxBufferedBytes: number | 'auto'
  readonly maxUnreadBytes: number | 'auto'
}

export const LIMIT_SETTINGS: SettingTable<LimitSettings> = {
  maxBodyBytes: {
    ...SIZE,
    name: 'max_body',
    description: 'Maximum size of a request body; larger bodies are rejected with 413',
    default: '100mb',
    live: true,
  },
  maxMessageBytes: {
    ...SIZE,
    name: 'max_message',
    description:
      'Maximum size of a WebSocket message; larger messages close the WebSocket with 1009',
    default: '1mb',
    live: true,
  },
  maxConnections: {
    ...countOrAuto(1, 10_000_000),
    name: 'max_connections',
    description:
      'Maximum number of client connections, per worker; auto reserves half of the open-file limit for backends',
    default: 'auto',
    live: false,
  },
  maxClientWebSockets: {
    ...countOrAuto(1, 10_000_000),
    name: 'max_client_websockets',
    description:
      'Maximum number of WebSockets per client address (IPv6: /64) and worker, for the listener uws only; further ones are rejected with 503. auto allows as many as can fill a quarter of the memory with unfinished messages',
    default: 'auto',
    live: false,
  },
  maxBufferedBytes: {
    ...SIZE_OR_AUTO,
    name: 'max_buffered',
    description:
      'Memory limit of buffered request bytes, per worker: bodies and WebSocket messages that are incomplete or waiting for slow backends. Beyond it, the largest request is ended with 413 or 503, or 1013 for WebSockets. auto is a sixteenth of the memory, from 32 to 128 MiB',
    default: 'auto',
    live: false,
  },
  maxUnreadBytes: {
    ...SIZE_OR_AUTO,
    name: 'max_unread',
    description:
      'Memory limit of responses waiting for slow clients, per worker: beyond it, long responses fail with 503; beyond half of it, the gRPC streams that have waited longest are reset. auto is a sixteenth of the memory, from 32 to 256 MiB',
    default: 'auto',
    live: false,
  },
}
