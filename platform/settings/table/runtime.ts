import type { UserIdRange } from '../../../lib/process/sandbox/user-ids.ts'
import { CORES, SIZE_OR_ZERO, TIMEOUT } from '../../../lib/values/amount.ts'
import { oneOf, SWITCH } from '../../../lib/values/value.ts'
import { NAMESPACE_NAMES } from '../parse/names.ts'
import { USER_IDS } from '../parse/user-ids.ts'
import type { SettingTable } from '../setting.ts'

const RUNTIMES = ['process', 'kubernetes', 'none'] as const
const POD_SECURITIES = ['restricted', 'baseline'] as const

export interface RuntimeSettings {
  readonly runtime: (typeof RUNTIMES)[number]
  readonly runtimeNamespaces: readonly string[]
  /** If undefined, programs run as the user of the server. */
  readonly runtimeUids: UserIdRange | undefined
  readonly restartDelayMaxMs: number
  readonly runtimeReadOnlyRoot: boolean
  /** 0 if not set. */
  readonly runtimeCpuRequest: number
  /** 0 if not set. */
  readonly runtimeMemoryRequestBytes: number
  readonly runtimePodSecurity: (typeof POD_SECURITIES)[number]
}

export const RUNTIME_SETTINGS: SettingTable<RuntimeSettings> = {
  runtime: {
    ...oneOf(RUNTIMES),
    name: 'runtime',
    description:
      'Runtime of services: process (programs on this machine), kubernetes (images in a Kubernetes namespace), or none',
    default: 'process',
    only: 'server',
    live: false,
  },
  runtimeNamespaces: {
    ...NAMESPACE_NAMES,
    name: 'runtime_namespaces',
    description:
      'Namespaces whose administrators may run programs with the process runtime, in addition to administrators of namespace mx',
    default: '',
    only: 'server',
    live: false,
  },
  runtimeUids: {
    ...USER_IDS,
    name: 'runtime_uids',
    description:
      'User ids for programs, one per namespace, if the server may change users; none runs programs as the user of the server',
    default: '200000-209999',
    only: 'server',
    live: false,
  },
  restartDelayMaxMs: {
    ...TIMEOUT,
    name: 'restart_delay_max',
    description:
      'Maximum delay before the process runtime restarts a program; the delay starts at 1 s and doubles',
    default: '1m',
    only: 'server',
    live: false,
  },
  runtimeReadOnlyRoot: {
    ...SWITCH,
    name: 'runtime_read_only_root',
    description:
      'Read-only root file system for pods of the kubernetes runtime, with a writable /tmp',
    default: 'true',
    only: 'server',
    live: false,
  },
  runtimeCpuRequest: {
    ...CORES,
    name: 'runtime_cpu_request',
    description:
      'CPU request of pods of the kubernetes runtime whose service has no limit, or none',
    default: '0.1',
    only: 'server',
    live: false,
  },
  runtimeMemoryRequestBytes: {
    ...SIZE_OR_ZERO,
    name: 'runtime_memory_request',
    description:
      'Memory request of pods of the kubernetes runtime whose service has no limit, or none',
    default: '64mb',
    only: 'server',
    live: false,
  },
  runtimePodSecurity: {
    ...oneOf(POD_SECURITIES),
    name: 'runtime_pod_security',
    description:
      'Pod Security Standard of pods of the kubernetes runtime: restricted, or baseline for images that run as root',
    default: 'restricted',
    only: 'server',
    live: false,
  },
}
