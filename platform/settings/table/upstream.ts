import { parseDuration } from '../../../lib/text/units.ts'
import { MAX_TIME, TIMEOUT } from '../../../lib/values/amount.ts'
import { freeText, single } from '../../../lib/values/value.ts'
import { BALANCE_POLICY } from '../parse/names.ts'
import type { SettingTable } from '../setting.ts'

export interface UpstreamSettings {
  /** Load-balancing policy as text. */
  readonly balance: string
  /** Zone; empty if unknown. */
  readonly zone: string
  readonly connectTimeoutMs: number
  readonly keepAliveMs: number
  readonly maxConnectionAgeMs: number
  readonly replyTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly requestTimeoutMs: number
  /** 0 disables load shedding. */
  readonly shedAboveMs: number
}

export const UPSTREAM_SETTINGS: SettingTable<UpstreamSettings> = {
  balance: {
    ...BALANCE_POLICY,
    name: 'balance',
    description:
      'Load-balancing policy: round-robin, random, p2c, least-conn, ewma, hash:ip, hash:path, hash:header:<name>, hash:cookie:<name>, or maglev with the same keys as hash; the prefix "sticky:" binds clients to a node by a cookie',
    default: 'round-robin',
    live: true,
  },
  zone: {
    ...freeText('name'),
    name: 'zone',
    description:
      'Zone of this gateway: nodes with the same zone in their metadata are preferred while enough of them are usable',
    default: '',
    unset: 'none',
    live: true,
  },
  connectTimeoutMs: {
    ...TIMEOUT,
    name: 'connect_timeout',
    description:
      'Connect timeout of a backend, after which the next node is tried, or 504 is returned (502 for calls)',
    default: '5s',
    live: true,
  },
  keepAliveMs: {
    ...TIMEOUT,
    name: 'keep_alive',
    description:
      'Idle timeout of HTTP/1.1 connections to backends; shorter if the backend advertises or is observed to use a shorter timeout',
    default: '4s',
    live: true,
  },
  maxConnectionAgeMs: {
    ...MAX_TIME,
    name: 'max_connection_age',
    description:
      'Maximum age at which a backend connection accepts new requests, so that DNS changes take effect, or none',
    default: '5m',
    live: true,
  },
  replyTimeoutMs: {
    ...TIMEOUT,
    name: 'reply_timeout',
    description:
      'Time limit of a response head and of an asynchronous hook (504 when exceeded), and of a call (408)',
    default: '60s',
    live: true,
  },
  idleTimeoutMs: {
    ...TIMEOUT,
    name: 'idle_timeout',
    description: 'Maximum pause within a body, after which the connection is closed',
    default: '60s',
    live: true,
  },
  requestTimeoutMs: {
    ...MAX_TIME,
    name: 'request_timeout',
    description:
      'Time limit of an entire request, including uploads, streams and downloads, or none; when exceeded, 504 is sent or the response is aborted',
    default: 'none',
    live: true,
  },
  shedAboveMs: {
    ...single('off or duration', 'a duration of at least 1ms, or off', (text, reject) => {
      if (text.trim() === 'off') return 0
      const ms = parseDuration(text)
      if (!(ms >= 1 && Number.isFinite(ms))) throw reject()
      return ms
    }),
    name: 'shed_above',
    description:
      'Event-loop delay above which requests with priority batch are rejected with 503, and above twice the delay requests with priority default, or off',
    default: 'off',
    live: true,
  },
}
