import { countOrAuto, DELAY, TIMEOUT } from '../../../lib/values/amount.ts'
import { freeText, nonEmptyTexts, oneOf, SWITCH } from '../../../lib/values/value.ts'
import type { SettingTable } from '../setting.ts'

const PROFILE_NAMES = ['local', 'test', 'cluster', 'kubernetes'] as const

/** A set of defaults of `mx server`. */
export type ProfileName = (typeof PROFILE_NAMES)[number]

export interface ProcessSettings {
  readonly profile: ProfileName
  /** If empty, `mx.yaml` in the working folder is used if present. */
  readonly config: string
  /** Names or files in chain order, which run after the default plugins. */
  readonly plugins: readonly string[]
  readonly workers: number | 'auto'
  readonly hotRestart: boolean
  readonly drainDelayMs: number
  readonly drainTimeoutMs: number
}

export const PROCESS_SETTINGS: SettingTable<ProcessSettings> = {
  profile: {
    ...oneOf(PROFILE_NAMES, 'name'),
    name: 'profile',
    description: `Set of defaults: ${PROFILE_NAMES.join(', ')}`,
    default: 'local',
    only: 'server',
    live: false,
  },
  config: {
    ...freeText('file'),
    name: 'config',
    description: 'Configuration file, reloaded when it changes',
    default: '',
    unset: 'mx.yaml in the working folder, if present',
    notInFile: 'it is this file',
    live: false,
  },
  plugins: {
    ...nonEmptyTexts('name or file', 'the name or the file of a plugin'),
    splitFlag: false,
    name: 'plugin',
    description:
      'Plugin to run after the default ones: a built-in name, ./file.js, ./file.ts or a package',
    default: '',
    notInFile: 'list plugins under "plugins"',
    live: true,
  },
  workers: {
    ...countOrAuto(1, 256),
    name: 'workers',
    description: 'Number of processes that share the port; auto is one per processor',
    default: '1',
    only: 'api',
    live: false,
  },
  hotRestart: {
    ...SWITCH,
    name: 'hot_restart',
    description:
      'Serve from a child process that SIGUSR2 replaces without losing requests; always on with several workers',
    default: 'false',
    only: 'api',
    live: false,
  },
  drainDelayMs: {
    ...DELAY,
    name: 'drain_delay',
    description:
      'Time after SIGTERM during which new requests are still accepted while /readyz fails, so that load balancers notice',
    default: '0s',
    live: true,
  },
  drainTimeoutMs: {
    ...TIMEOUT,
    name: 'drain_timeout',
    description: 'Time limit of requests in flight after SIGTERM',
    default: '10s',
    live: true,
  },
}
