import { SIZE_OR_AUTO, SIZE_OR_ZERO } from '../../../lib/values/amount.ts'
import { oneOf, single } from '../../../lib/values/value.ts'
import { SECRET_KEY, SECRET_KEY_SOURCE } from '../parse/secret.ts'
import { BROKER_URL, STORE_URL } from '../parse/server-urls.ts'
import type { SettingTable } from '../setting.ts'

const SYNC_MODES = ['os', 'always'] as const

export interface StateSettings {
  /** Path, which may begin with `~/`. */
  readonly dataDir: string
  /** `memory`, `lmdb`, or the URL of a store. */
  readonly store: string
  readonly storeSync: (typeof SYNC_MODES)[number]
  readonly maxStoreBytes: number | 'auto'
  /** 0 disables the minimum. */
  readonly minFreeDiskBytes: number
  /** `memory`, or the URL of a broker. */
  readonly broker: string
  /** `file`, `memory`, or the key; empty if none. */
  readonly configSecretKey: string
  /** Key; empty if none. */
  readonly configSecretKeyPrevious: string
}

export const STATE_SETTINGS: SettingTable<StateSettings> = {
  dataDir: {
    ...single('folder', 'a folder', (text, reject) => {
      if (text.trim() === '') throw reject()
      return text
    }),
    name: 'data_dir',
    description:
      'Data folder for ACME certificates stored in files; only one gateway may use it at a time',
    default: '~/.mx/api',
    inServer: {
      description: 'Data folder for state stored in files; only one server may use it at a time',
      default: '~/.mx/server',
    },
    live: false,
  },
  store: {
    ...STORE_URL,
    name: 'store',
    description: `Store for the ACME certificates of one or more gateways: ${STORE_URL.allowed}`,
    default: 'lmdb',
    inServer: { description: `Store for records: ${STORE_URL.allowed}` },
    live: false,
  },
  storeSync: {
    ...oneOf(SYNC_MODES),
    name: 'store_sync',
    description:
      'When a write of records or events to a file is acknowledged: os (survives a process crash) or always (fsync, survives a power failure)',
    default: 'os',
    only: 'server',
    live: false,
  },
  maxStoreBytes: {
    ...SIZE_OR_AUTO,
    name: 'max_store',
    description:
      'Size limit of records in a memory or PostgreSQL store; writes beyond it fail with 507. auto is 256 MiB in memory and unlimited in PostgreSQL',
    default: 'auto',
    only: 'server',
    live: false,
  },
  minFreeDiskBytes: {
    ...SIZE_OR_ZERO,
    name: 'min_free_disk',
    description:
      'Minimum free disk space in the data folder for sources and builds of services, or none; uploads fail with 507 below it',
    default: '256mb',
    only: 'server',
    live: false,
  },
  broker: {
    ...BROKER_URL,
    name: 'broker',
    description: `Message broker for services and the handler event: ${BROKER_URL.allowed}`,
    default: 'memory',
    live: false,
  },
  configSecretKey: {
    ...SECRET_KEY_SOURCE,
    name: 'config_secret_key',
    description:
      'Encryption key for ACME private keys in the store: 32 bytes in base64, the same for all gateways that share a store',
    default: '',
    unset: 'not encrypted',
    inServer: {
      description:
        'Encryption key for configuration secrets and private keys: 32 bytes in base64, file (generated, for one server), or memory (lost at exit)',
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
        'Previous encryption key; values encrypted with it are re-encrypted with config_secret_key at startup',
    },
    notInFile: 'set MX_CONFIG_SECRET_KEY_PREVIOUS instead',
    live: false,
  },
}
