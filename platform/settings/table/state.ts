import { SIZE_OR_AUTO, SIZE_OR_ZERO } from '../../../lib/values/amount.ts'
import { oneOf, single } from '../../../lib/values/value.ts'
import { SECRET_KEY, SECRET_KEY_SOURCE } from '../parse/secret.ts'
import { BROKER_URL, STORE_URL } from '../parse/server-urls.ts'
import type { SettingTable } from '../setting.ts'

const SYNC_MODES = ['os', 'always'] as const

export interface StateSettings {
  /** May begin with `~/`. */
  readonly dataDir: string
  /** `memory`, `lmdb`, or the URL of a store. */
  readonly store: string
  readonly storeSync: (typeof SYNC_MODES)[number]
  readonly maxStoreBytes: number | 'auto'
  /** 0: no minimum. */
  readonly minFreeDiskBytes: number
  /** `memory`, or the URL of a broker. */
  readonly broker: string
  /** `file`, `memory`, or the key; empty if none. */
  readonly configSecretKey: string
  /** Empty if none. */
  readonly configSecretKeyPrevious: string
}

export const STATE_SETTINGS: SettingTable<StateSettings> = {
  dataDir: {
    ...single('folder', 'a folder', (text, reject) => {
      if (text.trim() === '') throw reject()
      return text
    }),
    name: 'data_dir',
    description: 'Data folder of ACME certificates stored in files; used by one gateway at a time',
    default: '~/.mx/api',
    inServer: {
      description: 'Data folder of state stored in files; used by one server at a time',
      default: '~/.mx/server',
    },
    live: false,
  },
  store: {
    ...STORE_URL,
    name: 'store',
    description: `Store of ACME certificates, for one gateway or for several: ${STORE_URL.allowed}`,
    default: 'lmdb',
    inServer: { description: `Store of records: ${STORE_URL.allowed}` },
    live: false,
  },
  storeSync: {
    ...oneOf(SYNC_MODES),
    name: 'store_sync',
    description:
      'When a write of records and events to a file is acknowledged: os (survives a process crash) or always (fsync, survives a power failure)',
    default: 'os',
    only: 'server',
    live: false,
  },
  maxStoreBytes: {
    ...SIZE_OR_AUTO,
    name: 'max_store',
    description:
      'Size limit of records in a memory or PostgreSQL store; writes beyond it fail with 507. auto is 256 MiB in memory, and no limit in PostgreSQL',
    default: 'auto',
    only: 'server',
    live: false,
  },
  minFreeDiskBytes: {
    ...SIZE_OR_ZERO,
    name: 'min_free_disk',
    description:
      'Free space that sources and builds of services leave on the disk of the data folder; uploads beyond it fail with 507; or none',
    default: '256mb',
    only: 'server',
    live: false,
  },
  broker: {
    ...BROKER_URL,
    name: 'broker',
    description: `Message broker of services and of the handler event: ${BROKER_URL.allowed}`,
    default: 'memory',
    live: false,
  },
  configSecretKey: {
    ...SECRET_KEY_SOURCE,
    name: 'config_secret_key',
    description:
      'Encryption key of ACME private keys in the store: 32 bytes in base64, the same for all gateways of a store',
    default: '',
    unset: 'not encrypted',
    inServer: {
      description:
        'Encryption key of configuration secrets and private keys: 32 bytes in base64, file (generated, for one server), or memory (lost at exit)',
      unset: 'secrets cannot be stored',
    },
    notInFile: 'set MX_CONFIG_SECRET_KEY instead',
    live: false,
  },
  configSecretKeyPrevious: {
    ...SECRET_KEY,
    name: 'config_secret_key_previous',
    description: 'Previous encryption key, for reading only',
    default: '',
    inServer: {
      description:
        'Previous encryption key; its values are encrypted again with config_secret_key at the start',
    },
    notInFile: 'set MX_CONFIG_SECRET_KEY_PREVIOUS instead',
    live: false,
  },
}
