import { randomBytes } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecretHasher } from '../../core/auth/token/secret-hash.ts'
import { createEvents } from '../../domain/events/events.ts'
import { createStore } from '../../domain/store/store.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import { createAccounts } from '../../services/auth/accounts/accounts.ts'
import type { AuditRecord } from '../../services/auth/audit.ts'
import { ADMIN_ID, resetAccess } from '../../services/auth/reset-access.ts'
import { createRules } from '../../services/auth/rules/rules.ts'
import { AUDIT_TOPIC } from '../../services/events/reserved.ts'
import { configurationFrom } from '../config/load.ts'
import { parseFlags } from '../settings/flags.ts'
import type { Settings } from '../settings/settings.ts'
import { type AdminPassword, PASSWORD_FILE } from './bootstrap-accounts.ts'
import { openDataFolder, toFolderPath } from './files/data-folder.ts'
import { toHomeFolder } from './files/home-folder.ts'
import { writePrivateFile } from './files/private-file.ts'
import { openEvents, toEventsLimits } from './open/events.ts'
import { openStore } from './open/store.ts'

/** Result of `mx auth reset`. */
export interface AccessReset {
  readonly password: AdminPassword
  /** Ids of the deleted rules. */
  readonly rules: readonly string[]
  /** Reason why no audit event was published; undefined on success. */
  readonly notAudited: string | undefined
}

const PASSWORD_BYTES = 18

/**
 * Restores operators' access in the store of a stopped server. Requires write access to its data
 * folder.
 *
 * @param words flags of `mx server` that specify the location of the data.
 * @throws {SettingsError} for invalid flags.
 * @throws {Error} with a one-line message if the data is missing or in use.
 */
export async function resetAccessOffline(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<AccessReset> {
  const { flags, problems } = parseFlags(words, 'server')
  const { settings } = await configurationFrom(flags, env, 'server', problems)()
  if (settings.store === 'memory')
    throw new Error(
      'the store is in memory (--store=memory): restart the server to start with new accounts and rules',
    )
  const path = toFolderPath(settings.dataDir)
  const exists = await stat(settings.store === 'lmdb' ? join(path, 'store') : path).catch(
    () => undefined,
  )
  if (settings.store === 'lmdb' && exists === undefined)
    throw new Error(
      `${path} contains no server data: set the folder with --data_dir or MX_DATA_DIR`,
    )
  const folder = await openDataFolder(settings.dataDir)
  try {
    return await reset(settings, folder.path)
  } finally {
    await folder.close()
  }
}

async function reset(settings: Settings, path: string): Promise<AccessReset> {
  const onWarning = (message: string): void => process.emitWarning(message)
  const store = createStore(await openStore({ settings, folder: join(path, 'store'), onWarning }))
  try {
    const password = randomBytes(PASSWORD_BYTES).toString('base64url')
    const file = join(toHomeFolder(path), PASSWORD_FILE)
    // Written before the reset, so that the password is not lost if the write fails.
    await writePrivateFile(file, `${password}\n`)
    const accounts = createAccounts({ store, hasher: createSecretHasher('auth'), nowMs: Date.now })
    const rules = await resetAccess({ accounts, rules: createRules(store) }, password)
    const notAudited = await writeAudit(settings, path).then(
      () => undefined,
      (error: Error) => error.message,
    )
    return { password: { password, file }, rules, notAudited }
  } finally {
    await store.close()
  }
}

/** @throws {Error} if the event storage is unavailable. */
async function writeAudit(settings: Settings, path: string): Promise<void> {
  const record: AuditRecord = {
    ...{ action: 'access.reset', namespace: DEFAULT_NAMESPACE, target: ADMIN_ID },
    ...{ account: 'server', address: '', request: '', time: Date.now() },
  }
  const folder = join(path, 'events')
  const adapter = await openEvents({ settings, folder, onWarning: () => {} })
  const events = createEvents(adapter, toEventsLimits(settings))
  try {
    const payload = Buffer.from(JSON.stringify(record))
    await events.publish(AUDIT_TOPIC, { payload, metadata: { action: record.action } })
  } finally {
    await events.close()
  }
}
