import type { SettingTable } from './setting.ts'
import { ACCESS_SETTINGS, type AccessSettings } from './table/access.ts'
import { ACME_SETTINGS, type AcmeSettings } from './table/acme.ts'
import { AUTH_SETTINGS, type AuthSettings } from './table/auth.ts'
import { EVENT_SETTINGS, type EventSettings } from './table/events.ts'
import { LIMIT_SETTINGS, type LimitSettings } from './table/limits.ts'
import { LISTEN_SETTINGS, type ListenSettings } from './table/listen.ts'
import { LOG_SETTINGS, type LogSettings } from './table/log.ts'
import { NETWORK_SETTINGS, type NetworkSettings } from './table/network.ts'
import { PROCESS_SETTINGS, type ProcessSettings } from './table/process.ts'
import { QUOTA_SETTINGS, type QuotaSettings } from './table/quotas.ts'
import { ROUTING_SETTINGS, type RoutingSettings } from './table/routing.ts'
import { RUNTIME_SETTINGS, type RuntimeSettings } from './table/runtime.ts'
import { STATE_SETTINGS, type StateSettings } from './table/state.ts'
import { TLS_SETTINGS, type TlsSettings } from './table/tls.ts'
import { UPSTREAM_SETTINGS, type UpstreamSettings } from './table/upstream.ts'

/** The parsed settings of `mx api` and `mx server`. */
export interface Settings
  extends ListenSettings,
    ProcessSettings,
    TlsSettings,
    AcmeSettings,
    RoutingSettings,
    AccessSettings,
    UpstreamSettings,
    LimitSettings,
    AuthSettings,
    LogSettings,
    StateSettings,
    EventSettings,
    RuntimeSettings,
    QuotaSettings,
    NetworkSettings {}

/** Settings by area, for help. */
export const SETTING_AREAS: Readonly<Record<string, Partial<SettingTable<Settings>>>> = {
  Listener: LISTEN_SETTINGS,
  Process: PROCESS_SETTINGS,
  TLS: TLS_SETTINGS,
  ACME: ACME_SETTINGS,
  Routing: ROUTING_SETTINGS,
  Access: ACCESS_SETTINGS,
  Backend: UPSTREAM_SETTINGS,
  Limit: LIMIT_SETTINGS,
  Account: AUTH_SETTINGS,
  Log: LOG_SETTINGS,
  State: STATE_SETTINGS,
  Event: EVENT_SETTINGS,
  Runtime: RUNTIME_SETTINGS,
  Quota: QUOTA_SETTINGS,
  Network: NETWORK_SETTINGS,
}

/** All settings in the order of help and documentation. */
export const SETTINGS: SettingTable<Settings> = {
  ...LISTEN_SETTINGS,
  ...PROCESS_SETTINGS,
  ...TLS_SETTINGS,
  ...ACME_SETTINGS,
  ...ROUTING_SETTINGS,
  ...ACCESS_SETTINGS,
  ...UPSTREAM_SETTINGS,
  ...LIMIT_SETTINGS,
  ...AUTH_SETTINGS,
  ...LOG_SETTINGS,
  ...STATE_SETTINGS,
  ...EVENT_SETTINGS,
  ...RUNTIME_SETTINGS,
  ...QUOTA_SETTINGS,
  ...NETWORK_SETTINGS,
}

/** A setting as written by a user. */
export interface SettingInput {
  /** Name of the setting in errors: `--workers`, `MX_WORKERS`, `mx.yaml:3:1: workers`. */
  readonly source: string
  /** Contains one element for `text` and `switch`. */
  readonly values: readonly string[]
}

/** The settings of one source: flags, environment or file. */
export type SettingsInput = ReadonlyMap<keyof Settings, SettingInput>
