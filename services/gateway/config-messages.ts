import { type TUnsafe, Type } from '../../core/schema.ts'
import type { AppliedConfig, ConfigChange, ConfigDiff, ConfigVersion } from './config-versions.ts'

export const Version: TUnsafe<ConfigVersion> = Type.Unsafe(
  Type.Object({
    number: Type.Integer(),
    time: Type.Integer({ description: 'Unix time in milliseconds.' }),
    author: Type.String({
      description: 'Account, or file if the configuration file was changed.',
    }),
    etag: Type.String({ description: 'Hash of the text as written.' }),
    summary: Type.String({ description: 'Changes in one line.' }),
  }),
)

const Change: TUnsafe<ConfigChange> = Type.Unsafe(
  Type.Object({
    kind: Type.String({ description: 'route, service, consumer, plugin, order or setting.' }),
    name: Type.String(),
    change: Type.String({ description: 'added, removed or changed.' }),
    detail: Type.String({
      description: 'Values of a setting, or changed keys; secrets are redacted.',
    }),
  }),
)

const DIFF = {
  etag: Type.String({ description: 'Version that the configuration was compared with.' }),
  changes: Type.Array(Change),
  restart: Type.Array(Type.String(), {
    description: 'Changed settings that take effect after a restart.',
  }),
}

export const Diff: TUnsafe<ConfigDiff> = Type.Unsafe(Type.Object(DIFF))

export const Applied: TUnsafe<AppliedConfig> = Type.Unsafe(
  Type.Object({
    ...DIFF,
    version: Version,
    file: Type.String({
      description:
        'Configuration file that was written. Empty if no file is used: the version is then lost on a restart.',
    }),
  }),
)
