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
    description: 'Maximum size of a request body, then 413',
    default: '100mb',
    live: true,
  },
  maxMessageBytes: {
    ...SIZE,
    name: 'max_message',
    description: 'Maximum size of a WebSocket message, then close code 1009',
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
      'Maximum number of WebSockets of a client address (IPv6: /64), per worker, then 503; listener uws only. auto allows as many as can fill a quarter of the memory with unfinished messages',
    default: 'auto',
    live: false,
  },
  maxBufferedBytes: {
    ...SIZE_OR_AUTO,
    name: 'max_buffered',
    description:
      'Memory limit of buffered request bytes, per worker: bodies and WebSocket messages that wait for slow backends or for their end. Beyond it the largest request is ended: 413 or 503, 1013 for WebSockets. auto is a sixteenth of the memory, from 32 to 128 MiB',
    default: 'auto',
    live: false,
  },
  maxUnreadBytes: {
    ...SIZE_OR_AUTO,
    name: 'max_unread',
    description:
      'Memory limit of responses that wait for slow clients, per worker: beyond it long responses are 503, and beyond half of it the gRPC streams that have waited longest are reset. auto is a sixteenth of the memory, from 32 to 256 MiB',
    default: 'auto',
    live: false,
  },
}
